//! Texts about requests that we refuse, or that fail here.

use super::MessageText;
use crate::base::text::{Text, say};
use crate::page::guard::GuardRefusal;

fn words(status: u16, title: Text, happened: Text, advice: Vec<Text>) -> MessageText {
    MessageText { status, title, happened, advice }
}

pub(super) fn bad_request() -> MessageText {
    words(
        400,
        say("The request cannot be understood"),
        say(
            "The browser, or the program, sent something that is not a proper request. Nothing was \
             passed on.",
        ),
        vec![say("Look for a mistake in the address."), say("Load the page again.")],
    )
}

pub(super) fn bad_address() -> MessageText {
    words(
        400,
        say("This address of the proxy is not understood"),
        say(
            "The page is there, but what the address says after its name cannot be used. Nothing was \
             changed.",
        ),
        vec![say("Look for a mistake in the address.")],
    )
}

pub(super) fn bad_form(status: u16) -> MessageText {
    words(
        status,
        say("This cannot be done"),
        say("The form says something that cannot be done as it is. Nothing was changed."),
        vec![say("Go back in the browser, and look at what the form says.")],
    )
}

pub(super) fn nothing_chosen() -> MessageText {
    words(
        422,
        say("Nothing was chosen"),
        say(
            "The button does something with what has a tick, and nothing has one that is there still. \
             Nothing was changed.",
        ),
        vec![say("Tick what you mean in the list, then press the button again.")],
    )
}

pub(super) fn forbidden(refusal: GuardRefusal) -> MessageText {
    let names = say("If the proxy is reached under another name, add that name to its names.");
    let anew = say("Open the page of the proxy anew, and press the button again.");
    let at_the_machine =
        say("Use the command line on the machine of the proxy, or set a control password with \
         `wwwoffle passwd`.");
    let (happened, advice) = match refusal {
        GuardRefusal::ForeignHost => (
            say(
                "The address that was used is not one of this proxy's own names, and under others its \
                 pages are not shown. Nothing was changed.",
            ),
            names,
        ),
        GuardRefusal::CrossSite => (
            say(
                "Another site had the browser send this request. The proxy does only what its own \
                 pages ask for, so that other sites cannot command it. Nothing was changed.",
            ),
            anew,
        ),
        GuardRefusal::ForeignOrigin => (
            say(
                "The form was sent by a page of another origin. The proxy does only what its own pages \
                 ask for, so that other sites cannot command it. Nothing was changed.",
            ),
            anew,
        ),
        GuardRefusal::NoPassword => (
            say("The request needs the control password, and came without. Nothing was changed."),
            anew,
        ),
        GuardRefusal::OtherMachine => (
            say(
                "This proxy has no control password, so other machines may read and request pages, and \
                 nothing else. Nothing was changed.",
            ),
            at_the_machine,
        ),
        GuardRefusal::NotAdministrator => (
            say(
                "This decides what the proxy may do or what is stored for a site, and it needs the \
                 control password. None is set. Nothing was changed.",
            ),
            at_the_machine,
        ),
        GuardRefusal::NoToken | GuardRefusal::WrongToken => (
            say(
                "The request does not carry the mark that pages of this proxy give to their buttons, or \
                 one from before the last start of the proxy. Nothing was changed.",
            ),
            anew,
        ),
    };
    words(403, say("Refused for safety"), happened, vec![advice])
}

pub(super) fn not_found(path: &str) -> MessageText {
    let why = if path.starts_with("/local/") {
        say(
            "Files of your own are shown at such addresses, from the directory `local` of the spool, and there is \
             no such file. `index.html` stands for its directory.",
        )
    } else {
        say("The address belongs to this proxy, and it has no page there.")
    };
    words(404, say("There is no such page"), why, vec![])
}

pub(super) fn no_longer() -> MessageText {
    words(
        501,
        say("Not supported any more"),
        say(
            "WWWOFFLE 2.9 fetched by FTP and Finger, too. This version fetches by HTTP and HTTPS alone, \
             as browsers do by now.",
        ),
        vec![],
    )
}

pub(super) fn refresh_queued() -> MessageText {
    words(
        202,
        say("It will be fetched anew"),
        say(
            "The proxy is offline. The page is on the queue now, and is fetched anew when the proxy goes \
             online. What is kept of it stays until then.",
        ),
        vec![],
    )
}

pub(super) fn method_not_allowed() -> MessageText {
    words(
        405,
        say("Not with this method"),
        say(
            "The page exists, and does not take this method. A link never changes anything here: use \
             the button on the page.",
        ),
        vec![],
    )
}

pub(super) fn must_ask() -> MessageText {
    words(
        504,
        say("Kept, and not to be shown unasked"),
        say(
            "The page is in the spool, and says that while online it must not be shown before its \
             origin was asked whether it still holds. The origin cannot be asked.",
        ),
        vec![say("Try again later.")],
    )
}

pub(super) fn not_kept() -> MessageText {
    words(
        504,
        say("Not kept"),
        say(
            "Whoever asked wants what is kept and nothing that has to be fetched (`only-if-cached`). \
             This is not kept, or has to be asked about first.",
        ),
        vec![say("Load the page without this condition.")],
    )
}

pub(super) fn form_answer() -> MessageText {
    words(
        404,
        say("No stored answer to this form"),
        say(
            "This address belongs to the answer to a form. Only the proxy knows it, and the spool has no \
             such answer for you. Nothing was sent.",
        ),
        vec![say("Open the page with the form and send the form again.")],
    )
}

pub(super) fn form_unknown() -> MessageText {
    words(
        504,
        say("The form cannot be sent again"),
        say(
            "What was written into this form is not stored: it was too long, it was imported, or another \
             user sent it. The stored answer stays as it is. Open its address to see it again.",
        ),
        vec![say("Open the page with the form and send the form again.")],
    )
}

pub(super) fn nothing_kept() -> MessageText {
    words(
        404,
        say("Nothing of this address is kept"),
        say("There is nothing to show: the spool has no answer of this address for you."),
        vec![],
    )
}

pub(super) fn offline_refused() -> MessageText {
    words(
        504,
        say("Not possible while offline"),
        say(
            "The proxy is offline, so nothing goes out. The spool has no answer to this request, and a \
             request of this kind cannot be queued.",
        ),
        vec![say("Go online, then try again.")],
    )
}

pub(super) fn port_blocked() -> MessageText {
    words(
        403,
        say("A tunnel to this port is not allowed"),
        say(
            "Tunnels lead only to the ports named in the configuration, so that the proxy cannot be \
             used to reach mail servers and the like.",
        ),
        vec![],
    )
}

pub(super) fn host_refused() -> MessageText {
    words(
        403,
        say("This host is refused"),
        say("The configuration of the proxy says that connections to this host are refused."),
        vec![],
    )
}

pub(super) fn tunnel_offline() -> MessageText {
    words(
        504,
        say("Not kept, and not possible while offline"),
        say(
            "Connections to this host pass through the proxy unread, so nothing of it is kept; and the \
             proxy is offline, so nothing goes out.",
        ),
        vec![say("Go online, then try again.")],
    )
}

pub(super) fn circle() -> MessageText {
    words(
        508,
        say("The request goes in a circle"),
        say(
            "This request has been through this proxy before: the proxy was asked to fetch from itself, \
             or another proxy sends back what it is given.",
        ),
        vec![
            say("If the address is that of this proxy, add its name to the names of the proxy."),
            say("Look at the proxy settings of the other proxy."),
        ],
    )
}

pub(super) fn undecodable() -> MessageText {
    words(
        502,
        say("The stored copy cannot be decoded"),
        say(
            "The stored copy is compressed, and its data is damaged or incomplete. Your browser or \
             program does not take it as it is.",
        ),
        vec![say("Go online, then load the page again: it is fetched again.")],
    )
}

pub(super) fn spool_full() -> MessageText {
    words(
        507,
        say("The disk is full"),
        say(
            "There is no room left where the spool is, so this cannot be recorded. Nothing that was \
             kept is lost.",
        ),
        vec![say("Make room on the disk, then load the page again.")],
    )
}

pub(super) fn queue_full() -> MessageText {
    words(
        507,
        say("The queue is full"),
        say("The outgoing queue holds as many requests as it may, so this one cannot be recorded."),
        vec![
            say("Go online to have the queue worked off."),
            say("Delete what is no longer wanted on the queue."),
        ],
    )
}

pub(super) fn share_used_up() -> MessageText {
    words(
        507,
        say("Your share of the queue is used up"),
        say(
            "The outgoing queue holds as many requests of yours as it may, so this one cannot be recorded.",
        ),
        vec![
            say("Delete what is no longer wanted on the queue."),
            say("Or wait until some of your requests are fetched."),
        ],
    )
}

pub(super) fn too_large_to_queue() -> MessageText {
    words(
        413,
        say("Too large to be sent later"),
        say("The proxy is offline, and what was to be sent is larger than what the queue takes."),
        vec![say("Go online, go back in the browser, and send it again.")],
    )
}

pub(super) fn spool_failed() -> MessageText {
    words(
        500,
        say("The spool cannot be used"),
        say("Reading or writing the spool failed."),
        vec![
            say("Look at the disk and at the rights of the spool directory."),
            say("Then try again."),
        ],
    )
}

pub(super) fn internal() -> MessageText {
    words(
        500,
        say("The proxy made a mistake"),
        say("Something went wrong inside the proxy. Its log says more."),
        vec![say("Try again."), say("If it happens again, report it with the lines of the log.")],
    )
}
