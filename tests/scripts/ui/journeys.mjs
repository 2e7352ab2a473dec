// The journeys of a traveller, a school and an archivist, each from the home page on by clicks alone, or
// with the keyboard alone. Only addresses of web sites are typed. `first-page` measures how long the first
// page takes.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { PATIENCE, end, fault, forget, holds, launch, person, settings } from './browsers.mjs'

const { base, browser: kind, http, https, journey, keyboard, out, password, scripts } = settings
const width = settings.width ?? 1280

/// The clicks from the first page of ours to the first HTTPS page that is read offline.
const MAX_CLICKS = 4

/// The largest number of times that Tab is pressed for one control.
const MAX_TABS = 300

let [browser, page, seen, clicks] = [undefined, undefined, undefined, 0]

async function begin() {
  browser = await launch(kind)
  const credentials = password ? { username: 'whoever', password } : undefined;
  ({ page, seen } = await person(browser, { scripts, width, credentials }))
}

function sure(holds, what) {
  if (!holds) throw new Error(what)
}

/// Waits until the result of `ask` is right.
async function until(what, ask, isRight = answer => answer) {
  const deadline = Date.now() + PATIENCE
  for (;;) {
    const answer = await ask()
    if (isRight(answer)) return answer
    sure(Date.now() < deadline, `timed out: ${what}: ${JSON.stringify(answer)?.slice(0, 2000)}`)
    await new Promise(go => setTimeout(go, 100))
  }
}

/// Moves the focus to a control with the Tab key.
async function focus(target) {
  for (let at = 0; at < MAX_TABS; at++) {
    await page.keyboard.press('Tab')
    const reached = await target.evaluate(one => {
      if (one !== document.activeElement) return undefined
      // The pages of other sites have their own style.
      if (!document.querySelector('nav.places')) return true
      const { outlineStyle, outlineWidth } = getComputedStyle(one)
      return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2
    })
    if (reached === undefined) continue
    return sure(reached, `the focus is not visible on ${target}`)
  }
  throw new Error(`Tab does not reach ${target}`)
}

/// Clicks a control, or reaches it and presses Enter.
async function act(target) {
  clicks++
  if (!keyboard) return target.click()
  await focus(target)
  return page.keyboard.press('Enter')
}

/// Types into a field, in place of its text.
async function type(selector, text) {
  const field = page.locator(selector).first()
  if (!keyboard) return field.fill(text)
  await focus(field)
  await page.keyboard.press('ControlOrMeta+a')
  return page.keyboard.type(text)
}

/// Chooses an option of a list.
async function choose(selector, value) {
  const list = page.locator(selector).first()
  if (!keyboard) return list.selectOption(value)
  await focus(list)
  const options = await list.locator('option').count()
  for (let at = 0; at < options && await list.inputValue() !== value; at++) await page.keyboard.press('ArrowDown')
  return sure(await list.inputValue() === value, `the keyboard chooses ${value}`)
}

/// Clicks a link or button that leads to another page.
async function click(selector, within = page) {
  const target = typeof selector === 'string' ? within.locator(selector).first() : selector
  // On a phone and in a long list, the target may be out of sight.
  await target.scrollIntoViewIfNeeded()
  forget(seen)
  const arrived = page.waitForNavigation({ waitUntil: 'load' })
  await act(target)
  await arrived
}

/// Types the address of a web site into the browser.
async function visit(address) {
  forget(seen)
  await page.goto(address)
}

/// Clicks what starts a download, and returns its file. Debian's Firefox keeps the file itself, so only
/// its name is known there.
async function save(selector) {
  const [download] = await Promise.all([page.waitForEvent('download'), act(page.locator(selector).first())])
  const file = path.join(out, download.suggestedFilename())
  if (kind !== 'firefox') await download.saveAs(file)
  return file
}

const button = action => `button[formaction$="${action}"], form[action$="${action}"] button:not([formaction])`
const home = () => click('header a.home')
const place = path => click(`header nav a[href$="${path}"]`)
const text = () => page.locator('body').innerText()

async function look(name) {
  // The check whether the browser trusts the certificate fails until it does.
  seen.complaints = seen.complaints.filter(({ url }) => !url?.endsWith('/ca/trusted.css'))
  await holds(page, seen, `${journey} ${kind} ${name}`, 'en')
  await page.screenshot({ path: path.join(out, `${name}.png`), fullPage: true })
}

/// Reloads a page of ours until it shows `wanted`, as a person does without scripts.
async function reloaded(wanted) {
  await until(`the page shows ${wanted}`, async () => {
    await page.reload()
    return (await text()).includes(wanted)
  })
}

const journeys = {
  /// Reads online, goes offline, asks for a page, and finds it when the connection is back.
  async traveller() {
    await visit(base)
    await look('new')
    await visit(`${http}/tea/`)
    await click('a[href="green.html"]')
    await visit(base)
    await click(button('/control/offline'))
    await look('offline')
    await reloaded('Tea: green')
    await click('main .cards a:has-text("Tea: green")')
    sure(await page.title() === 'Tea: green', 'a saved page is shown offline')
    await visit(`${http}/tea/`)
    await click('a[href="white.html"]')
    await look('missing')
    sure((await text()).includes('/tea/white.html'), 'the missing page is named')
    await home()
    await place('/queue/')
    await look('waiting')
    sure((await text()).includes('/tea/white.html'), 'it is on the queue')
    await home()
    await click(button('/control/online'))
    await until('the queue is fetched', async () => {
      await page.reload()
      return /Nothing waiting/.test(await text())
    })
    await click(button('/control/offline'))
    await reloaded('Tea: white')
    await look('back')
    await click('main .cards a:has-text("Tea: white")')
    sure(await page.title() === 'Tea: white', 'the page that was missing')
  },

  /// Opens the proxy for a school, blocks an address, and undoes both.
  async school() {
    await visit(base)
    await place('/configuration/')
    await look('settings')
    await click('main a[href$="/configuration/preset?school"]')
    await look('preset')
    sure(/queue-share/.test(await text()) && /Then/.test(await text()), 'the difference is shown')
    await click(button('/configuration/preset'))
    await look('applied')
    sure(/Restart wwwoffle/.test(await text()), 'what applies after a restart is told')
    await place('/ca')
    await look('devices')
    sure(/proxy\.pac/.test(await text()), 'the PAC address')
    await place('/configuration/')
    await click('main a[href$="/configuration/dont-get/urls"]')
    await type('#entry', `${http}/tea/black.html`)
    await click('main form.fields button.main')
    await look('blocked-saved')
    await visit(`${http}/tea/black.html`)
    sure(/blocked/i.test(await text()), 'the address is blocked')
    await look('blocked')
    await home()
    await place('/configuration/')
    await place('/usage/')
    await look('usage')
    await place('/configuration/')
    await click(button('/configuration/undo'))
    await visit(`${http}/tea/black.html`)
    sure(await page.title() === 'Tea: black', 'the address is open again')
    await visit(base)
    await place('/configuration/')
    await click('main a[href$="/configuration/preset?machine"]')
    await look('preset-back')
    await click(button('/configuration/preset'))
    await click('header nav a[href$="/configuration/"]')
    await click('main a[href$="/configuration/preset?machine"]')
    sure(/Nothing would change/.test(await text()), 'nothing is left of the preset')
  },

  /// Fetches a site, looks at what changed on a page, and exports the site.
  async archivist() {
    await visit(`${http}/tea/price.html`)
    await visit(`${http}/tea/price.html`)
    await visit(base)
    await place('/queue/')
    await place('/refresh-options/')
    await type('main input[name=url]', `${http}/tea/`)
    await choose('main select[name=extent]', 'links')
    await look('fetch')
    await click(button('/refresh-request/'))
    await place('/fetches/')
    await until('the site is fetched', async () => {
      await page.reload()
      return /done/.test(await page.locator('main section').first().innerText())
    })
    await look('fetched')
    await place('/index/')
    await until('the site is listed', async () => {
      await page.reload()
      return page.locator('main .cards a').count()
    })
    await look('library')
    await click('main .cards a')
    await reloaded('Price')
    await look('site')
    await click('main a[href*="/control/delete/url-all"]')
    await look('everything')
    const file = await save(button('/control/export-list/wacz'))
    sure(/\.wacz$/.test(file) && (kind === 'firefox' || existsSync(file)), `the site is exported: ${file}`)
    await page.goBack()
    await click(page.locator('.row.entry', { hasText: 'Price' }).locator('a[href*="/info/"]').first())
    await click('main a[href*="/history/"]')
    await look('history')
    await click('main a[href*="/history/marked/"]')
    sure(await page.locator('ins').first().innerText() === '2', 'the added word is marked')
    sure(await page.locator('del').first().innerText() === '1', 'the removed word is marked')
    await page.screenshot({ path: path.join(out, 'changes.png'), fullPage: true })
    await page.goBack()
    await click(button('/control/history/restore'))
    await visit(base)
    await click(button('/control/offline'))
    await visit(`${http}/tea/price.html`)
    sure(/costs 1 coins/.test(await text()), 'the older version is current')
  },

  /// From the start of a daemon with an empty spool to the first HTTPS page that is read offline.
  async 'first-page'() {
    await visit(base)
    await look('new')
    await click('main a[href$="/ca"]')
    const certificate = await save('main a[href$="/ca.pem"]')
    // The settings of the browser are not pages of ours: the file is imported for the person.
    await browser.close()
    const database = `sql:${path.join(settings.home, '.pki/nssdb')}`
    execFileSync('certutil', ['-d', database, '-A', '-t', 'C,,', '-n', 'wwwoffle', '-i', certificate])
    await begin()
    await visit(base)
    await look('trusted')
    await visit(`${https}/tea/`)
    await visit(base)
    await click(button('/control/offline'))
    await reloaded('All teas')
    await click('main .cards a:has-text("All teas")')
    sure(await page.title() === 'All teas' && page.url().startsWith('https://'), 'it is read offline')
    sure(clicks <= MAX_CLICKS, `at most ${MAX_CLICKS} clicks, not ${clicks}`)
    const seconds = (Date.now() - settings.began) / 1000
    console.log(`first HTTPS page saved and read offline: ${clicks} clicks, ${seconds.toFixed(1)} s after serve`)
  }
}

await begin()
try {
  await journeys[journey]()
} catch (error) {
  fault(`${journey} ${kind}, after ${clicks} clicks, at ${page.url()}`, error.stack.split('\n').slice(0, 12).join('\n'))
  await page.screenshot({ path: path.join(out, 'failed.png'), fullPage: true }).catch(() => {})
}
await browser.close()
end(`${journey} with ${kind}: ${clicks} clicks`)
