// Pages in a user's own language that is written from right to left: all is mirrored except addresses.
import path from 'node:path'
import { axe, end, fault, forget, holds, launch, person, settings } from './browsers.mjs'

const { base, closed, http, lang, out } = settings

/// Each page and its address, or an address for which it is shown instead.
const offline = {
  home: `${base}/`,
  control: `${base}/control/`,
  'list-all': `${base}/index/all`,
  queue: `${base}/queue/`,
  info: `${base}/info/?${http}/tea/`,
  history: `${base}/history/?${http}/tea/price.html`,
  search: `${base}/search/?q=tea`,
  statistics: `${base}/statistics/`,
  'monitor-options': `${base}/monitor-options/?${http}/tea/`,
  configuration: `${base}/configuration/`,
  preset: `${base}/configuration/preset?ship`,
  'configuration-section': `${base}/configuration/dont-get`,
  'will-get': `${http}/never-seen/`,
  blocked: `${http}/blocked`,
  ca: `${base}/ca`
}
const online = { refused: `${closed}/` }

/// Reports text that is mirrored but must not be, and the reverse.
async function turned(page, where) {
  const told = await page.evaluate(() => {
    const { dir } = document.documentElement
    const faults = dir === 'rtl' ? [] : [`dir is ${dir}`]
    const parts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const range = document.createRange()
    const place = (node, at) => {
      range.setStart(node, at)
      range.setEnd(node, at + 1)
      return range.getBoundingClientRect()
    }
    while (parts.nextNode()) {
      const node = parts.currentNode
      if (!node.parentElement.checkVisibility()) continue
      for (const { 0: address, index } of node.data.matchAll(/[a-z]+:\/\/[!-~]*/g)) {
        for (let at = index + 1; at < index + address.length; at++) {
          const [before, now] = [place(node, at - 1), place(node, at)]
          // Long addresses continue in the next line.
          if (now.top < before.bottom && now.left < before.left) {
            faults.push(`${address} is mirrored at ${node.data[at]} in ${node.parentElement.outerHTML.slice(0, 200)}`)
            break
          }
        }
      }
    }
    for (const field of document.querySelectorAll('input[type=text], textarea')) {
      const { direction, unicodeBidi } = getComputedStyle(field)
      if (direction !== 'ltr' && /^[ -~]+$/.test(field.placeholder)) faults.push(`the placeholder is mirrored: ${field.outerHTML.slice(0, 200)}`)
      if (direction !== 'ltr' && unicodeBidi !== 'plaintext') faults.push(`the input is mirrored: ${field.outerHTML.slice(0, 200)}`)
    }
    for (const word of document.querySelectorAll('code')) {
      if (!/isolate|plaintext/.test(getComputedStyle(word).unicodeBidi)) faults.push(`code may be mirrored: ${word.outerHTML.slice(0, 200)}`)
    }
    if (!/[\u05d0-\u05ea]/.test(document.querySelector('main').textContent)) faults.push('is in another language')
    return [...new Set(faults)]
  })
  for (const what of told) fault(where, what)
}

const browser = await launch('chromium')
const people = []
for (const [width, scheme] of [[1280, 'light'], [768, 'dark'], [360, 'dark']]) {
  people.push({ ...await person(browser, { lang, width, scheme }), width })
}

async function look(pages) {
  for (const [name, address] of Object.entries(pages)) {
    for (const { page, seen, width } of people) {
      const where = `${name} at ${width}`
      forget(seen)
      await page.goto(address)
      await holds(page, seen, where, lang)
      await turned(page, where)
      await axe(page, where)
      await page.screenshot({ path: path.join(out, `${name}-${width}.png`), fullPage: true })
    }
  }
}

await look(offline)
const [{ page }] = people
await page.goto(base)
await Promise.all([page.waitForNavigation(), page.locator('[formaction$="/control/online"]').first().click()])
await look(online)
await browser.close()
end('from right to left')
