// Common code of the scripts: their settings, browsers, and the checks for every page of ours.
//
//   node SCRIPT.mjs SETTINGS
//
// SETTINGS is a JSON object; see `Tools::run` and `Stage::told` in tests/site/ui.rs and tests/site/ui/stage.rs.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

export const settings = JSON.parse(process.argv[2])
export const require = createRequire(path.join(settings.modules, '/'))
const playwright = require('playwright-core')
const axeSource = readFileSync(path.join(settings.modules, 'axe-core/axe.min.js'), 'utf8')

/// The time limit for one wait, in milliseconds, on a busy machine.
export const PATIENCE = Number(process.env.UI_PATIENCE ?? 60_000)

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

const faults = new Set()

/// Reports a fault, each only once. The script goes on and fails at its end.
export function fault(where, what) {
  const line = `${where}: ${what}`
  if (!faults.has(line)) console.log(line)
  faults.add(line)
}

/// Ends the script, with an error status if there was a fault.
export function end(said) {
  console.log(`${said}; faults: ${faults.size}`)
  process.exit(faults.size ? 1 : 0)
}

/// Starts a browser that sends all requests to the daemon.
export async function launch(kind) {
  // Without this bypass list, and the preference below, loopback addresses are never requested through a proxy.
  const proxy = { server: settings.base, bypass: '<-loopback>' }
  const env = { ...process.env, HOME: settings.home }
  const common = { proxy, env, timeout: PATIENCE }
  if (kind === 'firefox') {
    // A released Firefox supports WebDriver BiDi, not the protocol of Playwright's own builds.
    const { hostname, port } = new URL(settings.base)
    const firefoxUserPrefs = {
      'network.proxy.allow_hijacking_localhost': true,
      'network.proxy.ssl': hostname,
      'network.proxy.ssl_port': Number(port)
    }
    return playwright.firefox.launch({
      ...common, firefoxUserPrefs, channel: 'moz-firefox', executablePath: settings.firefox
    })
  }
  const args = [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking',
    '--disable-component-update', '--disable-dev-shm-usage'
  ]
  return playwright.chromium.launch({ ...common, args, executablePath: settings.chromium })
}

/// A page of a person with these settings. `seen` records its requests and its error messages.
export async function person(browser, { lang = 'en', scripts = true, width = 1280, scheme = 'light', scale = 1, credentials }) {
  const context = await browser.newContext({
    locale: lang,
    javaScriptEnabled: scripts,
    viewport: { width, height: 800 },
    deviceScaleFactor: scale,
    colorScheme: scheme,
    httpCredentials: credentials,
    // Chromium trusts the authority through the user's database. Firefox would need it in its profile.
    ignoreHTTPSErrors: settings.browser === 'firefox'
  })
  context.setDefaultTimeout(PATIENCE)
  const page = await context.newPage()
  const seen = { requests: [], complaints: [] }
  page.on('request', request => {
    // Icons are requested at any time, also those of the previous page; see `holds`.
    const isIcon = request.resourceType() === 'other' && !request.isNavigationRequest()
    if (!isIcon) seen.requests.push(request.url())
  })
  page.on('pageerror', error => seen.complaints.push({ text: String(error) }))
  page.on('console', message => {
    const [text, { url }] = [message.text(), message.location()]
    if (message.type() === 'error') seen.complaints.push({ text, url })
  })
  return { context, page, seen }
}

/// Clears the record before the next page.
export function forget(seen) {
  seen.requests.length = 0
  seen.complaints.length = 0
}

/// Reports the findings of axe-core.
export async function axe(page, where) {
  await page.evaluate(axeSource)
  const found = await page.evaluate(async tags => {
    const run = await axe.run(document, { runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] })
    return run.violations.map(({ id, help, nodes }) => {
      const places = nodes.slice(0, 3).map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ''}`)
      return `${id}: ${help}, ${nodes.length} times: ${places.join(' | ')}`
    })
  }, TAGS)
  for (const violation of found) fault(where, `axe: ${violation}`)
}

/// Checks the rules for each page of ours, however it was reached.
export async function holds(page, seen, where, lang) {
  const told = await page.evaluate(() => {
    const wide = document.documentElement.scrollWidth - innerWidth
    const beyond = [...document.querySelectorAll('body *')]
      .filter(one => {
        const { left, right } = one.getBoundingClientRect()
        return wide > 0 && (right > innerWidth + 1 || left < -1)
      })
    return {
      wide,
      widest: beyond.slice(-2).map(one => one.outerHTML.slice(0, 160)).join(' | '),
      headings: document.querySelectorAll('h1').length,
      title: document.title,
      lang: document.documentElement.lang,
      // The URLs of all sub-resources, including icons.
      parts: [...document.querySelectorAll('[src], [data], [poster], link[rel~=icon], link[rel=stylesheet]')]
        .map(one => one.src ?? one.data ?? one.poster ?? one.href).filter(url => url),
      injected: document.querySelectorAll('#injected').length
    }
  })
  if (told.wide > 0) fault(where, `scrolls sideways by ${told.wide} px: ${told.widest}`)
  if (told.headings !== 1) fault(where, `has ${told.headings} top-level headings`)
  if (!told.title) fault(where, 'has no title')
  if (told.injected || told.title === 'injected') fault(where, 'shows foreign text as markup')
  if (lang && told.lang !== lang) fault(where, `is in ${told.lang}, not in ${lang}`)
  const { origin, port } = new URL(settings.base)
  for (const url of [...seen.requests, ...told.parts]) {
    const { origin: asked, port: at, protocol } = new URL(url)
    // A message page has the URL of the requested page.
    const ours = asked === origin || at === port || protocol === 'data:' || url === page.url()
    if (!ours) fault(where, `requests ${url}`)
  }
  for (const { text, url } of seen.complaints) {
    // Browsers report the error status of a message page, and a missing icon.
    if ((url !== page.url() && !url?.endsWith('/favicon.ico')) || !/status of \d/.test(text)) fault(where, `console: ${text} (${url})`)
  }
}
