//! Texts about requests that we refuse, or that fail here.

use super::MessageText;
use crate::base::text::{Text, tr};
use crate::page::guard::GuardRefusal;

fn words(status: u16, title: Text, happened: Text, advice: Vec<Text>) -> MessageText {
    MessageText { status, title, happened, advice }
}

pub(super) fn bad_request() -> MessageText {
    words(
        400,
        tr("The request cannot be understood"),
        tr("Your browser or program sent an invalid request. Nothing was forwarded."),
        vec![tr("Check the address for a mistake."), tr("Reload the page.")],
    )
}

pub(super) fn bad_address() -> MessageText {
    words(
        400,
        tr("This address of the proxy is invalid"),
        tr("The page exists, but the rest of the address is invalid. Nothing was changed."),
        vec![tr("Check the address for a mistake.")],
    )
}

pub(super) fn bad_form(status: u16) -> MessageText {
    words(
        status,
        tr("This cannot be done"),
        tr("The form has an invalid value. Nothing was changed."),
        vec![tr("Go back in the browser and check the form.")],
    )
}

pub(super) fn nothing_chosen() -> MessageText {
    words(
        422,
        tr("Nothing was selected"),
        tr("No entry is ticked, or the ticked entries no longer exist. Nothing was changed."),
        vec![tr("Tick entries in the list, then press the button again.")],
    )
}

pub(super) fn forbidden(refusal: GuardRefusal) -> MessageText {
    let names = tr("If you use another name for the proxy, add this name to `names` in \
        [local-host] of the configuration.");
    let reload = tr("Reload the page of the proxy, and press the button again.");
    let at_the_machine =
        tr("Use the command line on the machine of the proxy, or set a control password with \
         `wwwoffle passwd`.");
    let (happened, advice) = match refusal {
        GuardRefusal::ForeignHost => (
            tr("You used an address that is not one of the names of this proxy, so its pages \
                are not shown. Nothing was changed."),
            names,
        ),
        GuardRefusal::CrossSite => (
            tr("Another site made your browser send this request. The proxy accepts such \
                requests only from its own pages. Nothing was changed."),
            reload,
        ),
        GuardRefusal::OpenedElsewhere => return opened_elsewhere(),
        GuardRefusal::ForeignOrigin => (
            tr("The form was sent by a page of another site. The proxy accepts forms only from \
                its own pages. Nothing was changed."),
            reload,
        ),
        GuardRefusal::NoPassword => (
            tr("The request needs the control password and did not have it. Nothing was changed."),
            reload,
        ),
        GuardRefusal::OtherMachine => (
            tr("This proxy has no control password, so other machines may only read and request \
                pages. Nothing was changed."),
            at_the_machine,
        ),
        GuardRefusal::NotAdministrator => (
            tr("This changes what the proxy may do or what is stored for a site, so it needs \
                the control password. No control password is set. Nothing was changed."),
            at_the_machine,
        ),
        GuardRefusal::NoToken | GuardRefusal::WrongToken => (
            tr("The request does not come from a page of this proxy, or the page was opened \
                before the proxy was restarted. Nothing was changed."),
            reload,
        ),
    };
    words(403, tr("Refused for safety"), happened, vec![advice])
}

pub(super) fn opened_elsewhere() -> MessageText {
    words(
        403,
        tr("Opened by another page?"),
        tr("This address may lead to a saved file. A page of another site that opens it could \
                find out which addresses are saved here. So the proxy opens it only from its own \
                pages, such as this one. You get this message whether or not the file is saved."),
        vec![],
    )
}

pub(super) fn not_found(path: &str) -> MessageText {
    let why = if path.starts_with("/local/") {
        tr("These addresses show your own files from the directory `local` of the spool. This \
            file does not exist there. A directory shows its `index.html`.")
    } else {
        tr("The address belongs to this proxy, and it has no page there.")
    };
    words(404, tr("There is no such page"), why, vec![])
}

pub(super) fn no_longer() -> MessageText {
    words(
        501,
        tr("No longer supported"),
        tr("WWWOFFLE 2.9 also fetched by FTP and Finger. This version only fetches by HTTP and \
            HTTPS, as browsers do."),
        vec![],
    )
}

pub(super) fn refresh_queued() -> MessageText {
    words(
        202,
        tr("This page will be fetched again"),
        tr("You are offline. The page is on the queue, and is fetched again when the proxy goes \
            online. The saved copy stays until then."),
        vec![],
    )
}

pub(super) fn method_not_allowed() -> MessageText {
    words(
        405,
        tr("The method is not allowed"),
        tr("This address exists but does not accept this method. To change something, press \
            the button on the page: a link does not work."),
        vec![],
    )
}

pub(super) fn must_ask() -> MessageText {
    words(
        504,
        tr("Saved, but the site must confirm the copy first"),
        tr("While the proxy is online, the saved copy of this page may be shown only after the \
            site has confirmed that it is up to date. The site cannot be reached."),
        vec![tr("Try again later.")],
    )
}

pub(super) fn not_kept() -> MessageText {
    words(
        504,
        tr("Not saved"),
        tr("Your browser or program asked for a saved copy only (`only-if-cached`). There is \
            none, or the site must be asked first."),
        vec![tr("Request the page without `only-if-cached`.")],
    )
}

pub(super) fn form_answer() -> MessageText {
    words(
        404,
        tr("No saved answer to this form"),
        tr("This address stands for the answer to a form, and exists only in this proxy. You \
            have no saved answer here. Nothing was sent."),
        vec![tr("Open the page with the form and send the form again.")],
    )
}

pub(super) fn form_unknown() -> MessageText {
    words(
        504,
        tr("The form cannot be sent again"),
        tr(
            "The contents of this form are not stored: they were too long, the answer was imported, or \
             another user sent the form. The saved answer has not changed. To see it again, open this \
             address instead of reloading it.",
        ),
        vec![tr("Open the page with the form and send the form again.")],
    )
}

pub(super) fn nothing_kept() -> MessageText {
    words(
        404,
        tr("No saved copy of this address"),
        tr("There is nothing to show: you have no saved copy of this address."),
        vec![],
    )
}

pub(super) fn offline_refused() -> MessageText {
    words(
        504,
        tr("Not possible while offline"),
        tr("The proxy is offline. No answer to this request is saved, and a request of this \
            kind cannot be queued."),
        vec![tr("Go online, then try again.")],
    )
}

pub(super) fn port_blocked() -> MessageText {
    words(
        403,
        tr("A tunnel to this port is not allowed"),
        tr(
            "Tunnels lead only to the ports named in the configuration, so that the proxy cannot be \
             used to reach mail servers and the like.",
        ),
        vec![],
    )
}

pub(super) fn host_refused() -> MessageText {
    words(
        403,
        tr("This host is refused"),
        tr("The configuration refuses connections to this host."),
        vec![],
    )
}

pub(super) fn tunnel_offline() -> MessageText {
    words(
        504,
        tr("Pages of this host are not saved, so you cannot read them offline"),
        tr("HTTPS to this host is not intercepted, so nothing from it is saved. The proxy is \
            offline, so it cannot connect."),
        vec![tr("Go online, then try again.")],
    )
}

pub(super) fn circle() -> MessageText {
    words(
        508,
        tr("The request is in a loop"),
        tr("This request has been through this proxy before. It asks the proxy to fetch from \
            itself, or another proxy sends requests back."),
        vec![
            tr("If this is an address of the proxy, add its host to `names` in [local-host] of \
                the configuration."),
            tr("Check the settings of the other proxy."),
        ],
    )
}

pub(super) fn undecodable() -> MessageText {
    words(
        502,
        tr("The saved copy cannot be decoded"),
        tr("The saved copy is compressed, and its data is damaged or incomplete. Your browser \
            or program does not accept the compressed form."),
        vec![tr("Go online, then reload the page to fetch it again.")],
    )
}

pub(super) fn spool_full() -> MessageText {
    words(
        507,
        tr("The disk is full"),
        tr("The disk with the spool is full, so this cannot be saved. Pages that were saved \
            before are not lost."),
        vec![tr("Free some disk space, then reload the page.")],
    )
}

pub(super) fn queue_full() -> MessageText {
    words(
        507,
        tr("The queue is full"),
        tr("The queue is full, so this request was not added."),
        vec![
            tr("Go online to fetch the queue."),
            tr("Delete requests on the queue that you no longer need."),
        ],
    )
}

pub(super) fn share_used_up() -> MessageText {
    words(
        507,
        tr("Your share of the queue is used up"),
        tr("You have the maximum number of requests on the queue, so this one was not added."),
        vec![
            tr("Delete requests on the queue that you no longer need."),
            tr("Or wait until some of your requests are fetched."),
        ],
    )
}

pub(super) fn spelling_refused() -> MessageText {
    words(
        504,
        tr("Not added to the queue"),
        tr("The queue already has other spellings of this address. This one was not added, \
            because it is too long or there are too many."),
        vec![tr("Go online to fetch the queue.")],
    )
}

pub(super) fn too_large_to_queue() -> MessageText {
    words(
        413,
        tr("Too large to be sent later"),
        tr("The proxy is offline, and the data to send is too large for the queue."),
        vec![tr("Go online, go back in the browser, and send it again.")],
    )
}

pub(super) fn spool_failed() -> MessageText {
    words(
        500,
        tr("The spool cannot be used"),
        tr("Reading or writing the spool failed."),
        vec![
            tr("Check the disk and the permissions of the spool directory."),
            tr("Then try again."),
        ],
    )
}

pub(super) fn internal() -> MessageText {
    words(
        500,
        tr("The proxy made a mistake"),
        tr("Something went wrong inside the proxy. Its log says more."),
        vec![
            tr("Try again."),
            tr("If it happens again, report it with the relevant part of the log."),
        ],
    )
}
