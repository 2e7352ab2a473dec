// Every kind of page of ours in a text browser: with its heading, all its links, and no markup.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { end, fault, settings } from './browsers.mjs'
import { crawl, get, links, plain } from './crawl.mjs'

const run = promisify(execFile)

/// The number of pages to read of each kind.
const READ = 2

/// The number of attempts to read a page.
const LOOKS = 3

/// The output of lynx for a page: its text, and the addresses of its links.
async function dump(url) {
  const options = ['-dump', '-width=1000', '-nomargins', '-display_charset=utf-8', '-cfg=/dev/null', url]
  const env = { ...process.env, HOME: settings.home, LANG: 'C.UTF-8' }
  // lynx exits with an error for a message page, but still shows it.
  const { stdout } = await run(settings.lynx, options, { env, maxBuffer: 1 << 24 }).catch(ended => ended)
  const [text, references = ''] = stdout.split(/\nReferences\n/)
  return { text, addresses: [...references.matchAll(/^ *\d+\. (.*)$/gm)].map(([, address]) => address) }
}

/// Removes white space and direction marks, so that texts can be compared.
const bare = text => text.replace(/[\s\u2066-\u2069\u200e\u200f\u202a-\u202e]+/gu, '')

/// An address in a form that can be compared: lynx shows it decoded, sometimes twice.
function decoded(address) {
  let [before, now] = ['', address]
  while (now !== before) {
    before = now
    now = now.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
  }
  return now.replace(/[^!-~]/g, '')
}

const within = (html, tag) => html.match(new RegExp(`<${tag}[^>]*>(.*?)</${tag}>`, 's'))?.[1]

/// The faults of a page.
async function read(url, html) {
  const wrong = []
  const { text, addresses } = await dump(url)
  const told = bare(text)
  const heading = bare(plain((within(html, 'h1') ?? '').replace(/<[^>]*>/g, '')))
  if (!heading || !told.includes(heading.slice(0, 200))) wrong.push(`lynx shows no heading ${heading.slice(0, 200)}: ${text.slice(0, 300)}`)
  const shown = new Set(addresses.map(decoded))
  for (const [href] of links(html)) {
    // lynx cannot show longer addresses, and completes those within the page.
    if (href.length > 1000 || href.startsWith('#') || shown.has(decoded(href))) continue
    wrong.push(`lynx shows no link to ${href}`)
  }
  // Foreign text may look like markup, but our own must not.
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
  // A page may change between the two reads, while the index is still reading stored copies.
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
end(`${pages.length} pages read`)
