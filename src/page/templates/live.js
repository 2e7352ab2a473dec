// Keeps a page of ours current. The parts with `data-live` are replaced by those of the same page, fetched
// again: so the script makes no markup of its own. Without it, a page is current when it is loaded.
'use strict'

{
  /// The shortest time between two updates; the same if only numbers of bytes changed, or a part is in use;
  /// and the time without a key after which a search begins; in ms.
  const [PAUSE, SLOW, TYPED] = [1000, 5000, 300]

  const parts = root => [...root.querySelectorAll('[data-live]')]

  /// A part in which a person is about to do something stays as it is.
  function isInUse(part) {
    const selection = getSelection()
    return part.contains(document.activeElement) || part.querySelector('input:checked, details[open]') !== null
      || part.matches(':hover') || (!selection.isCollapsed && selection.containsNode(part, true))
  }

  const RESULTS = 'form[data-results]'

  /// What a person types, and what it finds, changes only while the person types.
  function isOfSearch(part) {
    const names = document.querySelector(RESULTS)?.dataset.results.split(' ') ?? []
    return names.includes(part.dataset.live) || part.querySelector(RESULTS) !== null
  }

  /// Fetches `address` and replaces those of `meant` that differ and satisfy `mayReplace`. Returns whether all
  /// of them are current then, and `undefined` if there was no answer.
  async function update(address, meant, mayReplace, signal) {
    const answer = await fetch(address, { signal }).catch(() => undefined)
    // A redirect or an error is another page.
    if (!answer?.ok || answer.redirected) return undefined
    const text = await answer.text().catch(() => '')
    if (!text) return undefined
    const page = new DOMParser().parseFromString(text, 'text/html')
    let isCurrent = true
    for (const part of parts(document).filter(meant)) {
      const next = parts(page).find(other => other.dataset.live === part.dataset.live)
      if (!next || next.innerHTML === part.innerHTML) continue
      if (mayReplace(part)) part.replaceChildren(...next.childNodes)
      else isCurrent = false
    }
    return isCurrent
  }

  let [source, timer, due, last, before, hasStored] = [undefined, undefined, 0, 0, undefined, false]

  /// Updates the page after `pause` since the last update, or sooner if that is already planned.
  function plan(pause) {
    const time = Math.max(Date.now(), last + pause)
    if (timer === 'running') due = due ? Math.min(due, pause) : pause
    else if (timer === undefined || time < due) {
      clearTimeout(timer)
      due = time
      timer = setTimeout(run, time - Date.now())
    }
  }

  async function run() {
    [timer, due] = [undefined, 0]
    // The next message comes when the page is shown again.
    if (document.hidden) return
    timer = 'running'
    const address = new URL(location.href)
    const isWhole = hasStored
    hasStored = false
    // The list of stored pages costs the most, and changes only if a page was stored.
    if (!isWhole && document.querySelector('[data-costly]')) address.searchParams.set('live', 'brief')
    const isCurrent = await update(address, part => !isOfSearch(part), part => !isInUse(part))
    if (!isCurrent && isWhole) hasStored = true
    const pause = due || (isCurrent === false ? SLOW : 0);
    [timer, due, last] = [undefined, 0, Date.now()]
    if (pause) plan(pause)
  }

  const CHANGING = ['bytes', 'rate', 'seconds_left']
  const withoutBytes = step => JSON.stringify(step, (key, value) => CHANGING.includes(key) ? undefined : value)

  function progress(event) {
    const step = JSON.parse(event.data)
    const previous = before
    before = step
    // The page was just loaded.
    if (!previous) return
    // The progress as a whole begins again with each fetch of the queue.
    const left = ({ queue }) => queue.waiting + queue.active
    hasStored ||= left(step) < left(previous) || step.stored !== previous.stored || step.whole.done !== previous.whole.done
      || previous.downloads.some(old => !step.downloads.some(one => one.id === old.id))
    plan(withoutBytes(step) === withoutBytes(previous) ? SLOW : PAUSE)
  }

  /// A hidden page has no stream: a browser opens only a few connections to one host.
  function listen() {
    source?.close()
    source = undefined
    if (document.hidden) return
    source = new EventSource('/api/events')
    source.addEventListener('progress', progress)
  }

  let typed, request
  document.addEventListener('input', ({ target: { form } }) => {
    if (!form?.matches(RESULTS)) return
    clearTimeout(typed)
    typed = setTimeout(async () => {
      request?.abort()
      request = new AbortController()
      const { signal } = request
      const names = form.dataset.results.split(' ')
      const address = new URL(form.action)
      address.search = new URLSearchParams(new FormData(form))
      const shown = address.href
      // A typed address is then shown as a link: it does not lead away.
      address.searchParams.set('live', 'link')
      const isCurrent = await update(address, part => names.includes(part.dataset.live), () => true, signal)
      const isHere = address.pathname === location.pathname
      if (isHere && isCurrent !== undefined && !signal.aborted) history.replaceState(null, '', shown)
    }, TYPED)
  })

  const search = document.querySelector(RESULTS)
  if (!search || new URL(search.action).pathname !== location.pathname) {
    document.addEventListener('visibilitychange', listen)
    addEventListener('pagehide', () => source?.close())
    listen()
  }
}
