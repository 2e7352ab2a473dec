# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_wwwoffle_global_optspecs
    string join \n config= spool= daemon= password-file= ca= h/help V/version
end

function __fish_wwwoffle_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_wwwoffle_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_wwwoffle_using_subcommand
    set -l cmd (__fish_wwwoffle_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -l config -d 'The configuration file; by default the one named by the variable `WWWOFFLE_CONFIG`, else that of this user, else that of the machine' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -l spool -d 'The spool, by which a verb also finds its daemon; by default the configured one' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -l daemon -d 'A daemon on another machine, such as `https://ship.lan:8080`, in place of the one on the spool' -r
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -l password-file -d 'The file with the control password of that daemon; without it, a terminal asks for the password' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -l ca -d 'The file with the certificate authority of that daemon, as `wwwoffle ca export` prints it, if this machine does not trust it' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -s V -l version -d 'Print version'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "browse" -d 'Start a browser that uses the proxy and trusts its certificates'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "run" -d 'Run a command while its requests are recorded, or answered from a recording'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "serve" -d 'Run the daemon in the foreground'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "stop" -d 'Stop the daemon, and wait until it has stopped'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "status" -d 'Show the mode, its last changes, the queue, and the work in progress'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "online" -d 'Go online: forward requests, and fetch the queue'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "offline" -d 'Go offline: serve everything from the spool, and send nothing out'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "autodial" -d 'Serve stored pages from the spool, and fetch the others'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "auto" -d 'Be online or offline depending on whether the connection works'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "get" -d 'Store pages in the spool, now or when online'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "runs" -d 'List the recursive fetches, or stop one'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "downloads" -d 'List the downloads in progress, or end one'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "usage" -d 'List what users and clients have used by day, and their quotas'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "queue" -d 'List the requests that wait to be fetched, in order, or change the order'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "fetch" -d 'Fetch the queue now'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "monitor" -d 'Fetch pages again on a schedule'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "collection" -d 'Put pages, sites and searches into collections, which are fetched and shared as one'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "ls" -d 'List the entries of the spool'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "search" -d 'Find stored pages by their words'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "reindex" -d 'Rebuild the index of the spool, which lists and search use, from the files'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "cat" -d 'Print the stored copy of a URL, decompressed'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "info" -d 'Show the details of a URL: status, dates, fields, certificates'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "history" -d 'List the stored versions of a URL, or restore or remove one'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "purge" -d 'Remove entries that have reached their age, set in the section [purge] of the configuration'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "pin" -d 'Protect URLs from purging; without URLs, list the protected ones'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "unpin" -d 'End the protection of URLs from purging'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "rm" -d 'Delete URLs from the spool permanently'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "fsck" -d 'Check the spool: names, lengths, records, which files belong together, and permissions'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "mv" -d 'Store an entry and its versions under another URL, or everything below a URL or of a host'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "write" -d 'Store standard input as the response of a URL'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "gzip" -d 'Compress the stored copies of URLs, and their older versions, where that saves enough space'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "gunzip" -d 'Decompress the stored copies of URLs'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "import" -d 'Import archives into the spool: WARC, WACZ, HAR, a spool of WWWOFFLE 2.9, mirrors'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "export" -d 'Export entries into an archive for other programs: FILE.warc.gz, FILE.wacz or FOLDER/'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "config" -d 'Show or change the configuration: comments are preserved, and a running daemon applies it at once'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "passwd" -d 'Print the configuration line for a user\'s password or the control password'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "ca" -d 'Show the certificate authority, or make browsers trust it so that HTTPS pages are stored'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "setup" -d 'Set up this machine: service, certificate and proxy settings; or take all of it back'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "service" -d 'Run the daemon as a service of systemd'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "hash" -d 'Print the key of URLs and their paths in the spool'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "url" -d 'Answer questions about URLs from standard input, one JSON object a line'
complete -c wwwoffle -n "__fish_wwwoffle_needs_command" -f -a "help" -d 'Explain a verb, or a section or an option of the configuration'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand browse" -l browser -d 'chromium, chrome, brave, edge, vivaldi or firefox, or the path of a browser [default: the first of these that is installed]' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand browse" -l profile -d 'The directory of the browser\'s profile [default: one in this user\'s state directory, `~/.local/state/wwwoffle/browse`]' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand browse" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l record -d 'Record every exchange of the command in this file, which ends in .wacz' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l replay -d 'Answer the requests of the command from this file; nothing goes out' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l max-body -d 'Do not record bodies longer than this, such as 200M' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l ignore-argument -d 'An argument of the URL that does not count, such as t or utm_*; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l ignore-field -d 'A member of a JSON body or a field of a form that does not count, at any depth, or a path such as variables.now; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l match-header -d 'A header field that counts, such as accept-language; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l slow -d 'Simulate a slow link: 2g, 3g or 4g' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l drop -d 'Break off this share of the responses, such as 5%' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l report -d 'Write a report to this file' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l report-format -d 'The format of the report [default: junit if the file ends in .xml, else json]' -r -f -a "json\t'One JSON object'
junit\t'XML as JUnit writes it, for the reports of CI systems'"
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l replace -d 'Replace the file if it exists. The old one stays until the command has ended'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l record-missing -d 'Forward requests without a recorded response, and add them to the file'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l local -d 'Requests to this machine (localhost, 127.0.0.1) go through the proxy too'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l ignore-body -d 'The body does not count'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l each-once -d 'Each recorded response answers one request. Without it, the last of several responses to the same request is repeated'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l all-fields -d 'Send Date, Age, Via and Cache-Status as recorded'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -l fail-missing -d 'Fail if a request has no recorded response, even if the command succeeds'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand serve" -l spool -d 'The spool. Takes precedence over `--spool` before the verb and over the configuration' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand serve" -l listen -d 'An address to listen on, instead of the configured ones; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand serve" -l mode -d 'The mode to start in, instead of the one at the last stop: online, offline, autodial, auto' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand serve" -l log-level -d 'The level of the log until the configured one changes: error, warn, info, debug or trace' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand serve" -l rest -d 'For tests: the number of seconds after the start in which nothing is removed automatically' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand serve" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand stop" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand status" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand status" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand online" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand offline" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand autodial" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand auto" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -s r -l recursive -d 'Follow links up to this depth, and fetch the sub-resources of all pages' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l at -d 'With --from-archive: the copies closest to this time, such as 2020-05-01 [default: the latest]' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l within -d 'The pages to follow links to: any, protocol, host, site, directory or a URL-SPECIFICATION' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l pages -d 'Fetch at most this many pages, not counting their sub-resources' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l budget -d 'Fetch at most this much in all, such as 200M' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l minutes -d 'Stop after this many minutes' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l without -d 'Do not fetch these, such as images,fonts' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l data -d 'Send this by POST: the text itself, the contents of @FILE, or standard input for @-' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l upload -d 'Send this file by PUT; - is standard input' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l type -d 'The media type of the data; by default that of a form, or application/octet-stream for a file' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l from -d 'Also get all URLs in this file: a page, bookmarks or any text; - is standard input. Or those in the profile of Firefox or a browser like Chromium: its directory, places.sqlite, Bookmarks or History' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l since -d 'Get only bookmarks made, or pages visited, since this time, such as 2026-11-01' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l most -d 'Get at most this many [default: 1000 of a history]' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l refresh -d 'Fetch the pages again even if they are stored'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l plan -d 'Fetch nothing, and show what would be fetched: measured for stored pages, estimated for others'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l json -d 'Print JSON: one object a line for each event'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l from-archive -d 'Store the copies that web archives have, in place of the pages of the sites. The archives of [web-archives] are asked, and learn the URLs'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l no-robots -d 'Ignore robots.txt and nofollow, by which a site asks programs not to fetch pages'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l whole -d 'Also fetch what the data saver leaves out'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l stylesheets -d 'Fetch style sheets'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l images -d 'Fetch images'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l icons -d 'Fetch icons'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l fonts -d 'Fetch fonts'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l scripts -d 'Fetch scripts'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l frames -d 'Fetch frames'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l iframes -d 'Fetch inline frames'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l media -d 'Fetch audio and video'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l objects -d 'Fetch embedded objects'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l bookmarks -d 'Get the bookmarks, the newest first. This is the default'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -l history -d 'Get the pages of the history, the most visited first'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand get" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand runs" -l stop -d 'Stop this fetch; requests that only it needs leave the queue' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand runs" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand runs" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand downloads" -l end -d 'End this download, also for the clients that read it' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand downloads" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand downloads" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand usage" -l days -d 'List this number of days, up to today' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand usage" -l csv -d 'Print comma-separated values, without the quotas'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand usage" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand usage" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand queue" -l sort -d 'Sort the list by turn (what will be fetched first), age (the oldest first) or url' -r -f -a "turn\t''
age\t''
url\t''"
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand queue" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand queue" -l first -d 'Fetch these URLs before all others'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand queue" -l usual -d 'Fetch these URLs in the usual order again'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand queue" -l last -d 'Fetch these URLs after all others'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand queue" -l remove -d 'Remove these URLs from the queue, with all their spellings'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand queue" -l retry -d 'Retry these URLs; without URLs, all that have failed'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand queue" -l all -d 'With --remove: the whole queue. With --retry: all that have failed'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand queue" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand fetch" -l budget -d 'Fetch at most this much, such as 200M; the rest waits for the next fetch' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand fetch" -l bundle -d 'Fetch the requests of this bundle, made by `wwwoffle export --queue`, and add the responses to it. They are stored in the spool FILE.spool first, or in the one named by --spool, on which no daemon may run' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand fetch" -l wait -d 'Show the progress, and return when every request is done or held back for a long time'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand fetch" -l plan -d 'Fetch nothing, and show what would be fetched, how much it is, and when it may be'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand fetch" -l json -d 'Print JSON; with --wait one object a line for each event'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand fetch" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and not __fish_seen_subcommand_from add list diff rm" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and not __fish_seen_subcommand_from add list diff rm" -f -a "add" -d 'Fetch pages on a schedule, in local time; by default every day at midnight'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and not __fish_seen_subcommand_from add list diff rm" -f -a "list" -d 'List the monitored pages, with their last and next fetch'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and not __fish_seen_subcommand_from add list diff rm" -f -a "diff" -d 'Print how the text of a page has changed since the previous version'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and not __fish_seen_subcommand_from add list diff rm" -f -a "rm" -d 'Stop monitoring pages'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l cron -d 'A cron line: minute, hour, day of the month, month, day of the week' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l at -d 'The time of day' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l months -d 'Only in these months, 1 to 12 or jan to dec' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l days -d 'Only on these days of the month' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l weekdays -d 'Only on these days of the week, 0 to 6 or sun to sat' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l hours -d 'At these hours, 0 to 23' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l versions -d 'Keep at least this many older versions' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l depth -d 'Follow links up to this depth' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l within -d 'The pages to follow links to: any, protocol, host, site, directory or a URL-SPECIFICATION' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l without -d 'Do not fetch these, such as images,fonts' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l select -d 'Report only changes in the elements that match this CSS selector' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l words -d 'Report only changes of lines that contain one of these words' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l mail -d 'Mail the changes to this address, with the program of [options] run-mail' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l each-session -d 'Once in each session: each time the proxy goes online'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l hourly -d 'Every hour'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l daily -d 'Every day'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l weekly -d 'Every week, on Sunday unless --weekdays says another day'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l monthly -d 'Every month, on the first unless --days says other days'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l whole -d 'Also fetch what the data saver leaves out'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l stylesheets -d 'Fetch style sheets'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l images -d 'Fetch images'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l icons -d 'Fetch icons'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l fonts -d 'Fetch fonts'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l scripts -d 'Fetch scripts'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l frames -d 'Fetch frames'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l iframes -d 'Fetch inline frames'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l media -d 'Fetch audio and video'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -l objects -d 'Fetch embedded objects'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from diff" -l from -d 'Compare from the version stored at this time (see --json)' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from diff" -l to -d 'Compare to the version stored at this time instead of the newest' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from diff" -l json -d 'Print JSON, with the times of all versions'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from rm" -l all -d 'All monitored pages'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand monitor; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -f -a "list" -d 'List the collections'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -f -a "show" -d 'Show a collection and its members'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -f -a "create" -d 'Make a collection'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -f -a "edit" -d 'Change the name, the note or the colour of a collection, or who sees it'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -f -a "add" -d 'Add pages, sites and searches to a collection'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -f -a "rm" -d 'Remove pages, sites and searches from a collection. Their saved copies stay'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -f -a "delete" -d 'Delete a collection. The saved pages stay'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -f -a "restore" -d 'Undo the deletion of a collection, within an hour'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -f -a "fetch" -d 'Fetch the pages of a collection again'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -f -a "schedule" -d 'Keep a collection up to date: fetch its pages on a schedule'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -f -a "share" -d 'Print a collection as a file for `import`, without the pages'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and not __fish_seen_subcommand_from list show create edit add rm delete restore fetch schedule share import" -f -a "import" -d 'Make a collection of a file of another wwwoffle. If it is a WACZ, also import its pages'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from show" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from create" -l note -d 'A note about it' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from create" -l colour -d 'Its colour' -r -f -a "grey\t''
red\t''
orange\t''
green\t''
teal\t''
blue\t''
purple\t''"
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from create" -l for-everyone -d 'Everyone who uses this proxy sees it'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from edit" -l rename -d 'The new name' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from edit" -l note -d 'A note about it' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from edit" -l colour -d 'Its colour' -r -f -a "grey\t''
red\t''
orange\t''
green\t''
teal\t''
blue\t''
purple\t''"
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from edit" -l for-everyone -d 'Everyone who uses this proxy sees it'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from edit" -l private -d 'Only you see it'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from edit" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from add" -l site -d 'A site, such as example.co.uk: everything that is saved of it; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from add" -l search -d 'A search: the pages that have these words; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from add" -l from -d 'Also add all URLs in this file: a page, bookmarks or any text; - is standard input' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from rm" -l site -d 'A site, such as example.co.uk: everything that is saved of it; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from rm" -l search -d 'A search: the pages that have these words; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from fetch" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from fetch" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -l cron -d 'A cron line: minute, hour, day of the month, month, day of the week' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -l at -d 'The time of day' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -l months -d 'Only in these months, 1 to 12 or jan to dec' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -l days -d 'Only on these days of the month' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -l weekdays -d 'Only on these days of the week, 0 to 6 or sun to sat' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -l hours -d 'At these hours, 0 to 23' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -l never -d 'End the schedule'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -l each-session -d 'Once in each session: each time the proxy goes online'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -l hourly -d 'Every hour'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -l daily -d 'Every day'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -l weekly -d 'Every week, on Sunday unless --weekdays says another day'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -l monthly -d 'Every month, on the first unless --days says other days'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from schedule" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from share" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand collection; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l sort -d 'Sort by name, stored, used, day, domain, type, size or random. Without an order, a filter or a list that needs the index, the entries are listed as they are found in the spool' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l host -d 'Only entries of this host, such as example.org or example.org:8080 (without the default port)' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l site -d 'Only entries of all hosts of this site, such as example.co.uk' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l type -d 'Only this type: page, text, document, image, media, style, script, font, data, archive or other' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l status -d 'Only this status: 404, 4xx or 400-499' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l text -d 'Only entries with this text in the URL or the title' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l since -d 'Only entries stored since this time: 2026-11-20 or 2026-11-20T13:00:00Z' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l until -d 'Only entries stored until this time, or until the end of this day' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l collection -d 'Only entries of this collection: its name or its id' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l owner -d 'Only entries of this owner: local, user:NAME, client:ADDRESS, or all for public entries' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l limit -d 'List at most this many' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l json -d 'Print JSON, one entry a line'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l pages -d 'Only pages, without sub-resources'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -l all -d 'Also list entries that [index-options] hides'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ls" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -l host -d 'Only entries of this host, such as example.org or example.org:8080 (without the default port)' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -l site -d 'Only entries of all hosts of this site, such as example.co.uk' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -l type -d 'Only this type: page, text, document, image, media, style, script, font, data, archive or other' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -l status -d 'Only this status: 404, 4xx or 400-499' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -l text -d 'Only entries with this text in the URL or the title' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -l since -d 'Only entries stored since this time: 2026-11-20 or 2026-11-20T13:00:00Z' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -l until -d 'Only entries stored until this time, or until the end of this day' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -l collection -d 'Only entries of this collection: its name or its id' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -l owner -d 'Only entries of this owner: local, user:NAME, client:ADDRESS, or all for public entries' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -l limit -d 'List at most this many' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -l json -d 'Print JSON, one page a line'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -l pages -d 'Only pages, without sub-resources'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand search" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand reindex" -l changed -d 'Only add changes that other programs made in the spool'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand reindex" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand cat" -l at -d 'Print the version of that time: 2026-11-20, "2026-11-20 14:25" or 2026-11-20T14:25:15Z' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand cat" -l owner -d 'The owner: local, user:NAME or client:ADDRESS; if it has no entry, the public one is used' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand cat" -l raw -d 'Print it byte for byte as it was received'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand cat" -l headers -d 'Also print the head of the response'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand cat" -l fetch -d 'If it is not stored, fetch it first, or queue it while offline'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand cat" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand info" -l owner -d 'The owner: local, user:NAME or client:ADDRESS; if it has no entry, the public one is used' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand info" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand info" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand history" -l restore -d 'Restore the version stored at this time (see --json); the current copy becomes a version' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand history" -l remove -d 'Remove the older version stored at this time' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand history" -l owner -d 'The owner: local, user:NAME or client:ADDRESS; if it has no entry, the public one is used' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand history" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand history" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand purge" -l dry-run -d 'Remove nothing, and show which entries would be removed and why'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand purge" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand purge" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand pin" -l from -d 'Also protect all URLs in this file: a page, bookmarks or any text; - is standard input' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand pin" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand unpin" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand rm" -l owner -d 'Delete the public entries and those of this owner: local, user:NAME or client:ADDRESS' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand rm" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand fsck" -l repair -d 'Repair the faults that can be repaired, and set aside the files that cannot be repaired'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand fsck" -l deep -d 'Also read every body, and compare it with its digest'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand fsck" -l json -d 'Print JSON: one finding a line, and the totals in the last line'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand fsck" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand mv" -l owner -d 'Move the public entries and those of this owner: local, user:NAME or client:ADDRESS' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand mv" -s r -l below -d 'Move everything below the first URL; a slash is added to its end if it has none'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand mv" -l force -d 'Replace entries that are stored under the second URL already'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand mv" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand write" -l type -d 'The content type, if the input has no head [default: by the extension in the URL]' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand write" -l owner -d 'Store it for this owner alone: user:NAME or client:ADDRESS; for everyone if omitted' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand write" -l headers -d 'Standard input begins with the head of the response: status line, fields and an empty line'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand write" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand gzip" -l host -d 'All entries of a host, such as example.org or example.org:8080 (without the default port)' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand gzip" -l owner -d 'Include the public copies of the URLs and those of this owner: local, user:NAME or client:ADDRESS' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand gzip" -l all -d 'All entries of the spool'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand gzip" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand gunzip" -l host -d 'All entries of a host, such as example.org or example.org:8080 (without the default port)' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand gunzip" -l owner -d 'Include the public copies of the URLs and those of this owner: local, user:NAME or client:ADDRESS' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand gunzip" -l all -d 'All entries of the spool'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand gunzip" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand import" -l owner -d 'The owner of responses meant for one person: local, user:NAME or client:ADDRESS' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand import" -l max-size -d 'Skip bodies longer than this, such as 200M [default: 4 GiB]' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand import" -l scheme -d 'The scheme of the URLs in a folder of plain files' -r -f -a "http\t''
https\t''"
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand import" -l replace -d 'Replace stored responses, even by older ones'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand import" -l dry-run -d 'Store nothing, and show what would be stored'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand import" -l everyone -d 'Store everything for everyone, without cookies, even responses that may be meant for one person'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand import" -l json -d 'Print JSON, one object a line'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l host -d 'Only entries of this host, such as example.org or example.org:8080 (without the default port); may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l since -d 'Only entries stored at this time or later: 2026-11-01, or 2026-11-01T10:00:00Z' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l until -d 'Only entries stored before this time' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l max-size -d 'Only bodies of at most this length, such as 200M' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l url-spec -d 'Only URLs that match this URL-SPECIFICATION, such as *://*.example.org/*; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l owner -d 'Also the personal entries of this owner: local, user:NAME or client:ADDRESS' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l search -d 'Only pages with these words, as `wwwoffle search` finds them' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l session -d 'Only entries fetched in one online session: latest, or a number of sessions back, such as 1' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l page -d 'Only this page' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l collection -d 'Only the pages, sites and searches of this collection: its name or its id' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l no-sub-resources -d 'Omit images, styles, fonts and scripts of matching pages unless they match themselves'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l versions -d 'Also export the older versions'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l queue -d 'Export the queue as a bundle instead, for `wwwoffle fetch --bundle` on an online machine. Forms and requests with a cookie or a login are left out'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l json -d 'Print JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -l unchanged -d 'In a folder, leave pages as they were received: links lead to the web, and scripts stay'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "get" -d 'Show an option, the options of a section, or all, and where they are set'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "explain" -d 'Show the value of every option for a URL, with the file and line that set it'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "import" -d 'Convert a configuration of WWWOFFLE 2.9; options without counterpart are reported and preserved as comments'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "set" -d 'Set an option'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "unset" -d 'Reset an option to its default'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "add" -d 'Add an element to an option that is an array'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "remove" -d 'Remove an element from an option that is an array'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "add-rule" -d 'Add a rule, which sets options for some URLs'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "remove-rule" -d 'Remove a rule'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "undo" -d 'Restore the previous version, or one by its number; the current one becomes a version'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "versions" -d 'List the stored versions, at most ten'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "check" -d 'Report all errors in the configuration, or in another file'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "reload" -d 'Make the daemon read the file again now'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "path" -d 'Print the path of the file, even if it does not exist'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and not __fish_seen_subcommand_from get explain import set unset add remove add-rule remove-rule undo versions check reload path show" -f -a "show" -d 'Print the file'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from get" -l json -d 'Print everything as JSON'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from import" -s o -l output -d 'The new file, which must not exist yet; standard output if omitted' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from unset" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from add" -l before -d 'Insert it before this element, counted from 0; at the end if omitted' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from add-rule" -l before -d 'Insert it before this rule of the section, counted from 0; at the end if omitted' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from add-rule" -l set -d 'An option and its value for these URLs; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from add-rule" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from remove-rule" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from undo" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from versions" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from reload" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from path" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand passwd" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and not __fish_seen_subcommand_from show export install uninstall renew" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and not __fish_seen_subcommand_from show export install uninstall renew" -f -a "show" -d 'Show the name, fingerprint and dates of the authority'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and not __fish_seen_subcommand_from show export install uninstall renew" -f -a "export" -d 'Print the certificate, to be imported into a browser or system'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and not __fish_seen_subcommand_from show export install uninstall renew" -f -a "install" -d 'Make the system or the browsers of this user trust the authority'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and not __fish_seen_subcommand_from show export install uninstall renew" -f -a "uninstall" -d 'Remove it, and earlier ones, from the system and from the browsers of this user'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and not __fish_seen_subcommand_from show export install uninstall renew" -f -a "renew" -d 'Create a new authority, and keep the old one beside it'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from export" -l der -d 'Print it in DER, the binary form, instead of PEM'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from install" -l certificate -d 'Use this PEM file instead of the certificate in the spool, for the spool of another user' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from install" -l root -d 'The root directory of the system, for images and tests' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from install" -l user -d 'Install it in this user\'s browsers (Chromium and every Firefox profile) instead of the system'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from install" -l print -l dry-run -d 'Only print the commands that would do it'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from uninstall" -l certificate -d 'Use this PEM file instead of the certificate in the spool, for the spool of another user' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from uninstall" -l root -d 'The root directory of the system, for images and tests' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from uninstall" -l all -d 'Remove every authority that wwwoffle has made for any spool, recognized by its name'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from uninstall" -l print -l dry-run -d 'Only print the commands that would do it'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand ca; and __fish_seen_subcommand_from renew" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l for -d 'Who shall use the proxy' -r -f -a "this-machine\t'This machine only'
household\t'Also the other machines of the local network'
school\t'The other machines of the local network, and everyone logs in'"
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l skip -d 'Leave a part out: service, certificate or proxy; may be repeated' -r -f -a "service\t'The service that starts the daemon'
certificate\t'The certificate in the stores of the system and of browsers'
proxy\t'The proxy settings of the desktop, of programs and of browsers'"
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l listen -d 'An address to listen on, instead of the configured ones; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l name -d 'A name under which other machines reach the proxy; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l client -d 'A machine or network that may use the proxy, instead of the networks of this machine; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l user-name -d 'A user of the proxy, whose password is asked for; may be repeated' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l user-file -d 'A file with users, one NAME:PASSWORD a line, that only its owner can read' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l control-password -d 'A file with the control password in its first line. Without it, a password that is not configured is asked for' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l root -d 'The root directory of the system, for images and tests' -r -F
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l plan -l dry-run -d 'Only show the plan'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -s y -l yes -d 'Do not ask'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l undo -d 'Take everything back that `setup` has changed'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l forget -d 'With --undo: forget the former state of what was changed since, and is left alone'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -l user -d 'Set up this user only, also for root. Without it, root sets up the machine'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand setup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand service; and not __fish_seen_subcommand_from install uninstall" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand service; and not __fish_seen_subcommand_from install uninstall" -f -a "install" -d 'Write a unit of systemd for this user, start the daemon, and start it at every login'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand service; and not __fish_seen_subcommand_from install uninstall" -f -a "uninstall" -d 'Stop the daemon and remove the unit. The spool stays'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand service; and __fish_seen_subcommand_from install" -l user -d 'For this user. For the whole machine, the package of your distribution has a unit'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand service; and __fish_seen_subcommand_from install" -l print -l dry-run -d 'Only print the unit and the commands'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand service; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand service; and __fish_seen_subcommand_from uninstall" -l user -d 'For this user. For the whole machine, the package of your distribution has a unit'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand service; and __fish_seen_subcommand_from uninstall" -l print -l dry-run -d 'Only print the unit and the commands'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand hash" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand url" -l localhost -d 'The names of the proxy, the first one for links. Without these three options, names and ports are as configured' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand url" -l http-port -d 'The port of the proxy for HTTP, such as 8080' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand url" -l https-port -d 'The port of the proxy for HTTPS, such as 8443' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand url" -l localnet -d 'The hosts of the local network, first match wins; ! before one excludes it' -r
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand url" -s h -l help -d 'Print help'
complete -c wwwoffle -n "__fish_wwwoffle_using_subcommand help" -s h -l help -d 'Print help'
