// Every page of ours that can be reached, and the message pages: valid, small, without findings of
// axe-core, in light and dark, on a phone, on paper, and usable with the keyboard alone.
import path from 'node:path'
import { writeFileSync } from 'node:fs'
import { axe, end, fault, forget, holds, launch, person, require, settings } from './browsers.mjs'
import { crawl } from './crawl.mjs'

const { HtmlValidate } = require('html-validate')

/// The size limit of a page, in bytes.
const LONGEST = 100_000

/// The number of pages of one kind to open in a browser: the first, and the longest.
const LOOKED_AT = 2

/// Rules of style are off. Several boxes share a name, since the form sends a list.
const validator = new HtmlValidate({
  root: true,
  extends: ['html-validate:recommended'],
  rules: {
    // A list may have a label: ARIA permits it for all but a few roles.
    'aria-label-misuse': ['error', { allowAnyNamable: true }],
    'attribute-boolean-style': 'off',
    'form-dup-name': 'off',
    'long-title': 'off',
    'no-implicit-button-type': 'off',
    'no-trailing-whitespace': 'off',
    'void-style': 'off'
  }
})

const told = new Set()

async function valid(where, html) {
  const report = await validator.validateString(html)
  for (const { ruleId, message, line } of report.results.flatMap(({ messages }) => messages)) {
    // One report per kind of page is enough.
    if (told.has(where + ruleId)) continue
    told.add(where + ruleId)
    fault(where, `html: ${ruleId}: ${message}: ${html.split('\n')[line - 1]?.slice(0, 200)}`)
  }
}

/// Checks that the Tab key reaches every control, in order, with a visible focus.
async function keyboard(page, where) {
  const wanted = await page.evaluate(() => {
    // An update of the page meanwhile would replace controls.
    Element.prototype.replaceChildren = () => {}
    const all = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]
    const reached = all.filter(one => {
      if (one.disabled || !one.checkVisibility()) return false
      if (one.type !== 'radio') return true
      const group = all.filter(other => other.name === one.name && other.form === one.form)
      return one === (group.find(other => other.checked) ?? group[0])
    })
    document.wanted = reached
    return reached.length
  })
  const told = []
  for (let at = 0; at < Math.min(wanted, 60); at++) {
    await page.keyboard.press('Tab')
    // A date has a stop for each of its parts.
    const isSame = () => {
      const was = document.reached
      document.reached = document.activeElement
      return was === document.reached && was.type === 'date'
    }
    for (let part = 0; part < 4 && await page.evaluate(isSame); part++) await page.keyboard.press('Tab')
    told.push(await page.evaluate(() => {
      const one = document.activeElement
      const { outlineStyle, outlineWidth } = getComputedStyle(one)
      const visible = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2
      return { at: document.wanted.indexOf(one), visible, html: one.outerHTML.slice(0, 120) }
    }))
  }
  for (const [at, { at: found, visible, html }] of told.entries()) {
    if (found !== at) return fault(where, `Tab reaches ${html} in place of control ${at}`)
    if (!visible) fault(where, `focus is not visible on ${html}`)
  }
  return undefined
}

/// Checks what a screen reader says: each control has a name, and the page has its landmarks.
async function spoken(page, where) {
  // A snapshot leaves out names of more than 900 characters.
  await page.evaluate(() => {
    const labels = [...document.querySelectorAll('[aria-labelledby]')]
      .flatMap(one => one.getAttribute('aria-labelledby').split(' ')).map(id => document.getElementById(id))
    for (const one of [...document.querySelectorAll('a, button, label'), ...labels]) {
      if (one && one.textContent.length > 300 && !one.querySelector('input, select, textarea')) {
        one.textContent = one.textContent.trim().slice(0, 300)
      }
    }
  })
  const said = await page.locator('body').ariaSnapshot()
  // A name between slashes, such as that of the first folder, has no quotation marks.
  for (const [line] of said.matchAll(/^ *- (link|button|textbox|checkbox|combobox|radio|progressbar)(?! ["/]).*$/gm)) {
    fault(where, `a screen reader has no name for ${line.trim()}`)
  }
  for (const landmark of ['banner', 'navigation', 'main', 'contentinfo']) {
    if (!said.includes(`- ${landmark}`)) fault(where, `has no ${landmark}`)
  }
}

let shot = 0

/// Takes screenshots of the whole page at each width, in light and dark.
async function shoot(page, where) {
  const name = `${String(++shot).padStart(3, '0')}-${file(where)}`
  for (const width of [360, 768, 1280]) {
    await page.setViewportSize({ width, height: 800 })
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme })
      await page.screenshot({ path: path.join(settings.shots, `${name}-${width}-${scheme}.png`), fullPage: true })
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.emulateMedia({ colorScheme: null })
}

/// Checks the print layout: black on white, without buttons.
async function paper(page, where) {
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  const told = await page.evaluate(() => {
    const { color, backgroundColor } = getComputedStyle(document.body)
    const pressed = [...document.querySelectorAll('button, nav')].filter(one => one.checkVisibility())
    const link = document.querySelector('main a')
    return { color, backgroundColor, pressed: pressed.length, link: link && getComputedStyle(link).color }
  })
  if (told.color !== 'rgb(0, 0, 0)' || told.backgroundColor !== 'rgb(255, 255, 255)') fault(where, `on paper: ${JSON.stringify(told)}`)
  if (told.pressed) fault(where, `${told.pressed} buttons are printed`)
  await page.emulateMedia({ media: null, colorScheme: null })
}

const file = where => where.replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '').slice(0, 60) || 'home'

const kinds = new Map()
let count = 0
if (!settings.paths) await crawl(async page => {
  count++
  const { length } = Buffer.from(page.html)
  if (length > LONGEST) fault(page.url, `${length} bytes`)
  if (/<b id=injected>|<script>document/.test(page.html)) fault(page.url, 'writes foreign text as markup')
  await valid(page.kind, page.html)
  const alike = kinds.get(page.kind) ?? []
  alike.push({ ...page, length })
  // The first one, followed by the longest.
  kinds.set(page.kind, [alike[0], ...alike.slice(1).sort((a, b) => b.length - a.length)].slice(0, LOOKED_AT))
})
console.log(`${count} pages of ${kinds.size} kinds reached`)

/// Ways to reach a page: by its address, or by pressing a button. Each returns the response.
const to = url => page => page.goto(url)
const press = (button, url, typed = {}) => async (page, seen) => {
  await page.goto(url)
  await page.evaluate(() => document.querySelectorAll('main details').forEach(one => { one.open = true }))
  for (const [field, value] of Object.entries(typed)) await page.locator(`main [name="${field}"]`).first().fill(value)
  forget(seen)
  const [answer] = await Promise.all([page.waitForNavigation(), page.locator(button).first().click()])
  return answer
}

/// A form that is shown again with messages beside its fields.
const again = (path, typed) => async (page, seen) => {
  const answer = await press('main form button.main', `${settings.base}${path}`, typed)(page, seen)
  if (answer.status() !== 422) fault(path, `has the status ${answer.status()} for ${JSON.stringify(typed)}`)
  return answer
}

/// Message pages, offline and online.
const offline = {
  'will-get': to(`${settings.http}/never-seen`),
  'will-get-again': to(`${settings.http}/never-seen`),
  'will-get-https': to(`${settings.https}/never-seen`),
  'asked-first': to(`${settings.http}/asked-first`),
  'send-later': press('button', `${settings.http}/form`),
  'undone': press('button[formaction$="/control/delete/req"], form[action$="/control/delete/req"] button', `${settings.http}/never-seen`),
  'blocked': to(`${settings.http}/blocked`),
  'not-found': to(`${settings.base}/no/such/page`),
  'no-button': to(`${settings.base}/control/online`),
  'fetch-again': again('/refresh-options/', { url: 'no address', depth: '-1' }),
  'monitor-again': again('/monitor-options/', { url: 'no address', dofm: '0', hofd: '24', versions: 'x', depth: '-1' }),
  'monitor-again-by-cron': again('/monitor-options/', { url: `${settings.http}/tea/`, cron: 'now and then' }),
  'option-again': again('/configuration/fetch-options/at-once', { value: 'many' })
}
const online = {
  'refused': to(`${settings.closed}/`),
  'broken': to(`${settings.http}/broken`),
  'unknown-host': to('http://no-such-host.invalid/'),
  'stranger': to(`${settings.stranger}/`),
  'too-long-field': to(`${settings.http}/too-long-field`)
}

const looked = settings.paths?.map(at => [`empty ${at}`, `${settings.base}${at}`])
  ?? [...kinds.values()].flat().map(({ url, kind }) => [kind, url])
const browser = await launch('chromium')

/// Runs all checks on one page.
async function look(where, reach) {
  for (const { page, seen, width } of [desk, phone, tablet, zoomed]) {
    forget(seen)
    await reach(page, seen)
    const at = `${where} (${page.url().slice(0, 200)}) at ${width}`
    await holds(page, seen, at)
    // The widths between have the colours and elements of the others.
    if (width === 1280 || width === 360) await axe(page, at)
    await page.screenshot({ path: path.join(settings.out, `${file(where)}-${file(String(width))}.png`) })
    if (width !== 1280) continue
    if (settings.shots) await shoot(page, where)
    await spoken(page, at)
    await keyboard(page, at)
    await paper(page, at)
  }
}

/// Like `look`, for pages that the crawl does not reach, so that their HTML is validated as well.
const readAndLook = (where, reach) => look(where, async (page, seen) => {
  const answer = await reach(page, seen)
  await valid(where, await answer.text())
})

const desk = { ...await person(browser, { width: 1280, scheme: 'light' }), width: 1280 }
const phone = { ...await person(browser, { width: 360, scheme: 'dark' }), width: 360 }
const tablet = { ...await person(browser, { width: 768, scheme: 'dark' }), width: 768 }
// A window of 1,280 pixels at 200 %.
const zoomed = { ...await person(browser, { width: 640, scheme: 'light', scale: 2 }), width: '200 %' }
for (const [where, url] of looked) await (settings.paths ? readAndLook : look)(where, to(url))
if (!settings.paths) for (const [where, reach] of Object.entries(offline)) await readAndLook(where, reach)
if (!settings.paths) {
  await press('[formaction$="/control/online"]', settings.base)(desk.page, desk.seen)
  for (const [where, reach] of Object.entries(online)) await readAndLook(where, reach)
}
await browser.close()
writeFileSync(path.join(settings.out, 'pages.json'), JSON.stringify(looked, null, 1))
end(`${looked.length} pages checked`)
