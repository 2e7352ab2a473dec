// Every kind of page of ours as a browser for text shows it: its heading, all its links, and no markup.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { end, fault, settings } from './browsers.mjs'
import { crawl, get, links, plain } from './crawl.mjs'

const run = promisify(execFile)

/// So many pages of a kind are read.
const READ = 2

/// So often a page is read until it is right.
const LOOKS = 3

/// What lynx makes of a page: its text, and the addresses of its links.
async function dump(url) {
  const options = ['-dump', '-width=1000', '-nomargins', '-display_charset=utf-8', '-cfg=/dev/null', url]
  const env = { ...process.env, HOME: settings.home, LANG: 'C.UTF-8' }
  // It fails on a page that tells of a failure, and shows it.
  const { stdout } = await run(settings.lynx, options, { env, maxBuffer: 1 << 24 }).catch(ended => ended)
  const [text, references = ''] = stdout.split(/\nReferences\n/)
  return { text, addresses: [...references.matchAll(/^ *\d+\. (.*)$/gm)].map(([, address]) => address) }
}

/// What is left of a text when it is broken into lines elsewhere, and set right to left or not.
const bare = text => text.replace(/[\s\u2066-\u2069\u200e\u200f\u202a-\u202e]+/gu, '')

/// An address as it can be compared: lynx shows it decoded, sometimes twice.
function decoded(address) {
  let [before, now] = ['', address]
  while (now !== before) {
    before = now
    now = now.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
  }
  return now.replace(/[^!-~]/g, '')
}

const within = (html, tag) => html.match(new RegExp(`<${tag}[^>]*>(.*?)</${tag}>`, 's'))?.[1]

/// What is wrong with a page.
async function read(url, html) {
  const wrong = []
  const { text, addresses } = await dump(url)
  const told = bare(text)
  const heading = bare(plain((within(html, 'h1') ?? '').replace(/<[^>]*>/g, '')))
  if (!heading || !told.includes(heading.slice(0, 200))) wrong.push(`lynx shows no heading ${heading.slice(0, 200)}: ${text.slice(0, 300)}`)
  const shown = new Set(addresses.map(decoded))
  for (const [href] of links(html)) {
    // It has no room for more.
    if (href.length > 1000 || shown.has(decoded(href))) continue
    wrong.push(`lynx shows no link to ${href}`)
  }
  // Foreign text may look like markup; none of ours may.
  const markup = text.match(/<\/?(div|p|form|button|input|label|section|main|bdi|time|span|style)\b|{%|{{ (t|n)\(|&#x2f;|&quot;/)
  if (markup) wrong.push(`lynx shows markup: ${text.slice(markup.index - 80, markup.index + 80)}`)
  return wrong
}

const counts = new Map()
const pages = []
await crawl(({ url, kind }) => {
  const count = counts.get(kind) ?? 0
  counts.set(kind, count + 1)
  if (count < READ) pages.push(url)
})
pages.push(`${settings.base}/no/such/page`)
for (const url of pages) {
  let wrong = []
  // What is found changes while the index still reads what was kept: it may have between the two looks at a page.
  for (let looks = 0; looks < LOOKS; looks++) {
    try {
      wrong = await read(url, (await get(url)).body.toString())
    } catch (error) {
      wrong = [error.message.slice(0, 500)]
    }
    if (!wrong.length) break
  }
  for (const what of wrong) fault(url, what)
}
end(`${pages.length} pages were read`)
