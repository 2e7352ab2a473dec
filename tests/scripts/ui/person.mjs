// All that a person does with an offline proxy, from the home page to the certificate, with the links
// and buttons of the pages. They are found by their targets, which works in every language.
import path from 'node:path'
import { PATIENCE, axe, end, fault, forget, holds, launch, person, settings } from './browsers.mjs'

const { base, browser: kind, closed, http, https, lang, scripts, width, out } = settings
const dark = lang !== 'en'
const browser = await launch(kind)
const { page, seen } = await person(browser, { lang, scripts, width, scheme: dark ? 'dark' : 'light' })

let step = 'the start'

/// Fails the step unless `holds`.
function sure(holds, what) {
  if (!holds) throw new Error(`${step}: ${what}`)
}

/// Waits until the result of `ask` is right.
async function until(what, ask, isRight) {
  const deadline = Date.now() + PATIENCE
  for (;;) {
    const answer = await ask()
    if (isRight(answer)) return answer
    sure(Date.now() < deadline, `timed out: ${what}: ${JSON.stringify(answer)?.slice(0, 2000)}`)
    await new Promise(go => setTimeout(go, 50))
  }
}

/// Opens a page of ours.
async function open(address) {
  forget(seen)
  await page.goto(base + address)
}

/// Performs an action that leads to another page.
async function leave(how) {
  forget(seen)
  const arrived = page.waitForNavigation({ waitUntil: 'load' })
  await how()
  await arrived
}

/// The button that submits a form to `action`.
const button = (action, within = page) =>
  within.locator(`button[formaction$="${action}"], form[action$="${action}"] button:not([formaction])`)

const press = (action, within) => leave(() => button(action, within).first().click())
const follow = selector => leave(() => page.locator(selector).first().click())
const text = () => page.locator('body').innerText()

/// Checks the whole page and takes a screenshot.
async function look(name) {
  const where = `${lang} ${width} ${kind} ${name}`
  await holds(page, seen, where, settings.languages?.includes(lang) ? lang : undefined)
  // axe-core is a script and uses timers, which do not run without scripts.
  if (scripts) await axe(page, where)
  await page.screenshot({ path: path.join(out, `${name}.png`), fullPage: true })
}

const api = async address => (await fetch(base + address)).json()
const queued = async () => (await api('/api/queue')).queue.map(({ url }) => url)
const queue = wanted => until('the queue has these URLs', queued, all => all.filter(url => !/favicon/.test(url)).sort().join() === wanted.sort().join())

/// With scripts, the page's script has its data. Without them, the image is loaded.
const shopIsWhole = () => scripts
  ? until('the shop is whole', () => page.title(), title => title === 'Full shop')
  : until('its image is loaded', () => page.evaluate(() => document.getElementById('i').naturalWidth), wide => wide === 31)

const steps = {
  async 'sees the proxy online'() {
    await open('/')
    await press('/control/online')
    sure(await page.locator('[formaction$="/control/online"][aria-pressed=true]').count(), 'online is not chosen')
    await look('home-online')
  },

  async 'browses'() {
    await page.goto(`${https}/shop/`)
    await shopIsWhole()
    for (const site of [https, http]) {
      await page.goto(`${site}/tea/`)
      await page.goto(`${site}/tea/green.html`)
      await page.goto(`${site}/tea/black.html`)
    }
    await page.goto(`${http}/tea/price.html`)
    await page.goto(`${http}/tea/price.html`)
    await until('all is stored', () => api('/api/status'), ({ downloads }) => downloads.length === 0)
  },

  async 'goes offline by the button'() {
    await open('/')
    await press('/control/offline')
    sure(await page.locator('[formaction$="/control/offline"][aria-pressed=true]').count(), 'offline is not chosen')
    await look('home-offline')
    await page.reload()
    sure((await api('/api/status')).mode === 'offline', 'a reload repeats nothing')
  },

  async 'sees a kept page'() {
    await page.goto(`${https}/shop/`)
    await shopIsWhole()
    await page.goto(`${https}/tea/`)
    await leave(() => page.getByRole('link', { name: 'green' }).click())
    sure(await page.title() === 'Tea: green', await page.title())
  },

  async 'asks for a missing page, and takes it back'() {
    forget(seen)
    await page.goto(`${http}/tea/white.html`)
    await queue([`${http}/tea/white.html`])
    await look('will-get')
    await press('/control/delete/req')
    await look('undone')
    await queue([])
    await page.goto(`${https}/tea/white.html`)
    await queue([`${https}/tea/white.html`])
    await press('/control/delete/req')
  },

  async 'works with the queue'() {
    for (const url of [`${http}/tea/white.html`, `${http}/tea/oolong.html`, `${closed}/nothing`]) await page.goto(url)
    await open('/')
    await follow('main a[href$="/queue/"]')
    await look('queue')
    const row = url => page.locator('.row', { has: page.locator(`a[href="${url}"]`) }).last()
    await row(`${http}/tea/oolong.html`).locator('input[name=chosen]').check()
    await press('/control/queue/first')
    const first = await page.locator('main a.url').first().getAttribute('href')
    sure(first === `${http}/tea/oolong.html`, `the selected request comes first, not ${first}`)
    await press('/control/delete/req', row(`${http}/tea/oolong.html`))
    await queue([`${http}/tea/white.html`, `${closed}/nothing`])
    await open('/')
    await press('/control/online')
    await until('the queue is fetched', queued, all => !all.includes(`${http}/tea/white.html`))
    const failed = async () => (await api('/api/queue')).queue.filter(({ state }) => state === 'failed').length
    await until('the other fails', failed, count => count === 1)
    await open('/queue/')
    await look('queue-failed')
    await press('/control/retry', row(`${closed}/nothing`))
    await until('it fails again', failed, count => count === 1)
    await open('/queue/')
    await press('/control/delete/req', row(`${closed}/nothing`))
    await queue([])
    await open('/')
    await press('/control/offline')
    await page.goto(`${http}/tea/white.html`)
    sure(await page.title() === 'Tea: white', 'it came by itself')
  },

  async 'sees the queue change without a reload'() {
    if (!scripts) return
    await open('/queue/')
    const other = await page.context().newPage()
    await other.goto(`${http}/tea/later.html`)
    await other.close()
    await page.bringToFront()
    await until('the page shows it', text, shown => shown.includes('/tea/later.html'))
    await press('/control/delete/req')
    await queue([])
  },

  async 'sees the home page change without a reload'() {
    if (!scripts) return
    await open('/')
    // A part on which the pointer rests stays as it is.
    await page.mouse.move(0, 0)
    const other = await page.context().newPage()
    await other.goto(`${http}/tea/oolong.html`)
    const waiting = page.locator('.figures a[href$="/queue/"] b')
    await until('the figure grows', () => waiting.innerText(), shown => shown === '1')
    await other.goto(`${base}/control/online`)
    await other.locator('main form button').click()
    await until('the page is saved', () => api('/api/index?text=oolong'), ({ entries }) => entries.length > 0)
    await until('the page is among the saved ones', text, shown => shown.includes('Tea: oolong'))
    await until('the figure shrinks', () => waiting.innerText(), shown => shown === '0')
    const pressed = () => page.locator('.modes [aria-pressed=true]').getAttribute('formaction')
    await until('the mode is shown', pressed, shown => shown.endsWith('/control/online'))
    await until('the requests are a chart', () => page.locator('svg.chart path.whole').count(), count => count === 1)
    await other.close()
    await page.bringToFront()
    // The titles of saved pages follow the words as they are typed; the page stays.
    await page.locator('#find input').fill('tea gre')
    const title = page.locator('.titles a', { hasText: 'Tea: green' }).first()
    await until('green tea is suggested', () => title.count(), count => count === 1)
    sure(new URL(page.url()).pathname === '/', page.url())
    await look('home-titles')
    await press('/control/offline')
  },

  async 'finds pages in the lists'() {
    await open('/')
    await follow('header a[href$="/index/"]')
    await look('lists')
    await follow('main a[href*="/index/all"]')
    await look('list-all')
    await page.locator('input[name=text]').fill('tea/')
    await leave(() => page.locator('input[name=text]').press('Enter'))
    const boxes = page.locator('input[name=url]')
    const box = url => page.locator(`input[name=url][value="${url}"]`)
    sure(await boxes.count() >= 6, `${await boxes.count()} entries`)
    const [green, black, white] = ['green', 'black', 'white'].map(name => `${http}/tea/${name}.html`)
    await box(green).check()
    await box(black).check()
    await look('list-chosen')
    await press('/control/refresh-multiple')
    await until('both are queued', queued, all => all.includes(green) && all.includes(black))
    await box(green).check()
    await press('/control/pin-multiple')
    await box(white).check()
    await press('/control/delete-multiple/url')
    await until('it is gone', async () => {
      await page.reload()
      return box(white).count()
    }, count => count === 0)
    await look('list-deleted')
    await press('/control/undo')
    await until('it is back', async () => {
      await page.reload()
      return box(white).count()
    }, count => count === 1)
    await box(white).check()
    await press('/control/monitor-multiple')
    await open('/monitor/')
    await press('/control/delete/mon')
    await open('/index/all?text=tea/')
    const downloads = page.waitForEvent('download')
    await box(white).check()
    await button('/control/export-multiple/warc').first().click()
    sure((await downloads).suggestedFilename().includes('warc'), 'the selection is exported')
    await follow('nav.soft a')
    await follow('main a[href$="/index/http"]')
    await look('list-hosts')
    await follow(`main .row a`)
    await look('list-host')
    await open('/queue/')
    await follow('main a[href$="/control/delete/req-all"]')
    await look('queue-delete-all')
    await press('/control/delete/req-all')
    await queue([])
  },

  async 'searches'() {
    await open('/')
    await follow('header a[href$="/search/"]')
    await look('search')
    await until('the words are known', async () => {
      await page.locator('main input[name=q]').fill('brew green')
      await leave(() => page.locator('main input[name=q]').press('Enter'))
      return page.locator('main mark').count()
    }, count => count > 0)
    if (scripts) {
      // The results follow the words as they are typed.
      await page.locator('main input[name=q]').fill('brew black')
      await until('black tea is found', text, shown => shown.includes('/tea/black.html'))
      await page.locator('main input[name=q]').fill('brew green')
      await until('green tea is found', text, shown => shown.includes('/tea/green.html') && !shown.includes('/tea/black.html'))
    }
    if (scripts && kind === 'chromium') {
      // If scripts end in the middle, the page works without them: buttons are those of forms.
      const devtools = await page.context().newCDPSession(page)
      await devtools.send('Emulation.setScriptExecutionDisabled', { value: true })
      await page.locator('main input[name=q]').fill('brew black')
      await leave(() => page.locator('main input[name=q]').press('Enter'))
      sure((await text()).includes('/tea/black.html'), 'black tea is found without scripts')
      await devtools.send('Emulation.setScriptExecutionDisabled', { value: false })
      await open(`/search/?q=${encodeURIComponent('brew green')}`)
    }
    await look('search-found')
    await leave(() => page.locator(`main a[href="${http}/tea/green.html"]`).first().click())
    sure(await page.title() === 'Tea: green', 'the page found')
  },

  async 'reads the information about a page'() {
    await open(`/info/?${http}/tea/green.html`)
    await look('info')
    await press('/control/unpin')
    sure(await button('/control/pin').count(), 'it can be pinned again')
    await press('/control/pin')
    await follow('main a[href*="/history/"]')
    await open(`/info/?${https}/shop/`)
    await look('info-https')
  },

  async 'goes through the history of a page'() {
    await open(`/history/?${http}/tea/price.html`)
    sure(await button('/control/history/restore').count() >= 1, 'there are two versions')
    await look('history')
    await leave(() => page.locator('form[action$="/history/diff/"] button:not([formaction])').click())
    sure(/1 coins/.test(await text()) && /2 coins/.test(await text()), 'the difference')
    await look('history-changes')
    await follow('main a[href*="/history/marked/"]')
    sure(await page.locator('del').innerText() === '1' && await page.locator('ins').innerText() === '2', 'the words are marked')
    await page.screenshot({ path: path.join(out, 'history-marked.png'), fullPage: true })
    await open(`/history/?${http}/tea/price.html`)
    await press('/control/history/restore')
    await page.goto(`${http}/tea/price.html`)
    sure(/costs 1 coins/.test(await text()), 'the old one is back')
  },

  async 'monitors a page'() {
    await open('/monitor/')
    await look('monitor-none')
    await follow('main a[href$="/monitor-options/"]')
    await page.locator('input[name=url]').fill(`${http}/tea/`)
    await page.locator('main form summary').click()
    await page.locator('input[name=cron]').fill('30 6 * * 1-5')
    await look('monitor-options')
    await press('/monitor-request/')
    await open('/monitor/')
    sure((await text()).includes('30 6 * * 1-5'), 'it is listed with its times')
    await look('monitor')
    await press('/control/delete/mon')
    await open('/monitor/')
    sure(!await button('/control/delete/mon').count(), 'it is no longer listed')
  },

  async 'plans a fetch with its parts, and begins it'() {
    await open(`/refresh-options/?${https}/tea/`)
    await look('refresh-options')
    await page.locator('select[name=extent]').selectOption('links')
    await press('/refresh-plan/')
    sure(await page.locator('main section li').count(), 'the plan has lines')
    await look('refresh-plan')
    await press('/refresh-request/')
    await open('/fetches/')
    sure((await text()).includes('/tea/'), 'it is listed')
    await look('fetches')
  },

  async 'looks at what a purge would remove'() {
    await open('/')
    await follow('main a[href$="/purge/"]')
    await until('there is a plan', async () => {
      await open('/purge/')
      return page.locator('main h2').count()
    }, count => count > 0)
    await look('purge')
  },

  async 'changes the configuration, and back'() {
    await open('/configuration/')
    await look('configuration')
    await follow('main a[href$="/configuration/preset?ship"]')
    await look('preset')
    await open('/configuration/')
    await follow('main a[href$="/configuration/caching"]')
    await look('configuration-section')
    await follow('main a[href$="/configuration/caching/keep-versions"]')
    await look('configuration-option')
    await page.locator('#value').first().fill('many')
    await leave(() => page.locator('#value').first().press('Enter'))
    sure(await page.locator('[role=alert]').count(), 'an invalid number is refused')
    await look('configuration-refused')
    await page.locator('#value').first().fill('7')
    await leave(() => page.locator('#value').first().press('Enter'))
    await look('configuration-changed')
    await press('/configuration/undo')
    await open('/configuration/caching/keep-versions')
    sure(await page.locator('#value').first().inputValue() === '5', 'it is as it was')
    await open(`/configuration/url?url=${encodeURIComponent(http)}`)
    await look('configuration-url')
    await open('/configuration/editurl')
    await look('configuration-editurl')
  },

  async 'trusts the certificate'() {
    await open('/ca')
    const trusts = kind === 'chromium' ? '.trusted' : 'h1'
    sure(await page.locator(trusts).first().isVisible(), 'the page tells that the browser trusts it')
    await look('ca')
    await page.goto(settings.stranger).catch(() => {})
  }
}

for (const [name, does] of Object.entries(steps)) {
  step = name
  const began = Date.now()
  try {
    await does()
  } catch (error) {
    fault(`${lang} ${width} ${kind}, a person ${name}, at ${page.url()}`, error.stack.split('\n').slice(0, 12).join('\n'))
    await page.screenshot({ path: path.join(out, 'failed.png'), fullPage: true }).catch(() => {})
    break
  }
  if (process.env.UI_TIMES) console.log(`${name}: ${Date.now() - began} ms`)
}
await browser.close()
end(`a person with ${kind}`)
