// Every kind of page of ours as a browser for text shows it: its heading, all its links, and no markup.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { end, fault, settings } from './browsers.mjs'
import { crawl, get, links, plain } from './crawl.mjs'

const run = promisify(execFile)

/// So many pages of a kind are read.
const READ = 2

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

async function read(url, html) {
  const { text, addresses } = await dump(url)
  const told = bare(text)
  const heading = bare(plain((within(html, 'h1') ?? '').replace(/<[^>]*>/g, '')))
  if (!heading || !told.includes(heading.slice(0, 200))) fault(url, `lynx shows no heading ${heading.slice(0, 200)}: ${text.slice(0, 300)}`)
  const shown = new Set(addresses.map(decoded))
  for (const [href] of links(html)) {
    // It has no room for more.
    if (href.length > 1000 || shown.has(decoded(href))) continue
    fault(url, `lynx shows no link to ${href}`)
  }
  // Foreign text may look like markup; none of ours may.
  const markup = text.match(/<\/?(div|p|form|button|input|label|section|main|bdi|time|span|style)\b|{%|{{ (t|n)\(|&#x2f;|&quot;/)
  if (markup) fault(url, `lynx shows markup: ${text.slice(markup.index - 80, markup.index + 80)}`)
}

const counts = new Map()
const pages = []
await crawl(({ url, kind, html }) => {
  const count = counts.get(kind) ?? 0
  counts.set(kind, count + 1)
  if (count < READ) pages.push([url, html])
})
for (const url of [`${settings.base}/no/such/page`]) pages.push([url, (await get(url)).body.toString()])
for (const [url, html] of pages) {
  try {
    await read(url, html)
  } catch (error) {
    fault(url, error.message.slice(0, 500))
  }
}
end(`${pages.length} pages were read`)
