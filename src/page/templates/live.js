// Keeps a page of ours current. The parts with `data-live` are replaced by those of the same page, fetched
// again: so the script makes no markup of its own. Without it, a page is current when it is loaded.
'use strict'

{
  /// The shortest time between two updates, and the time without a key after which a search begins, in ms.
  const [PAUSE, TYPED] = [1000, 300]

  const parts = root => [...root.querySelectorAll('[data-live]')]

  /// A part in which a person is about to do something stays as it is.
  const isInUse = part => part.contains(document.activeElement) || part.querySelector('input:checked') !== null

  let latest = 0

  /// Fetches `address` and replaces the parts that differ. Only the latest request counts.
  async function update(address, name) {
    const request = ++latest
    const answer = await fetch(address).catch(() => undefined)
    // A redirect or an error is another page.
    if (!answer?.ok || answer.redirected) return
    const text = await answer.text().catch(() => '')
    if (!text || request !== latest) return
    const page = new DOMParser().parseFromString(text, 'text/html')
    for (const part of parts(document)) {
      if (name && part.dataset.live !== name) continue
      const next = parts(page).find(other => other.dataset.live === part.dataset.live)
      if (next && next.innerHTML !== part.innerHTML && !isInUse(part)) part.replaceChildren(...next.childNodes)
    }
  }

  let [source, timer, last] = [undefined, undefined, 0]

  function progress() {
    if (timer !== undefined) return
    timer = setTimeout(() => {
      [timer, last] = [undefined, Date.now()]
      update(location.href)
    }, Math.max(0, last + PAUSE - Date.now()))
  }

  /// A hidden page has no stream: a browser opens only a few connections to one host.
  function listen() {
    source?.close()
    source = undefined
    if (document.hidden) return
    source = new EventSource('/api/events')
    source.addEventListener('progress', progress)
  }

  const search = document.querySelector('form[data-results]')
  if (search) {
    let typed
    search.addEventListener('input', () => {
      clearTimeout(typed)
      typed = setTimeout(() => {
        const address = `${search.action}?${new URLSearchParams(new FormData(search))}`
        update(address, search.dataset.results)
      }, TYPED)
    })
  } else {
    document.addEventListener('visibilitychange', listen)
    addEventListener('pagehide', () => source?.close())
    listen()
  }
}
