// All pages of ours that can be reached by links and forms from the home page.
import http from 'node:http'
import { fault, settings } from './browsers.mjs'

/// Pages that are not ours: stored copies, the user's files, and proxied pages.
const FOREIGN = /^\/(history\/(version|marked)|local|http|https|ftp)\//

/// The largest number of pages to visit of one kind, and of all kinds.
const OF_A_KIND = 60
const IN_ALL = 900

/// Input for the fields of forms.
const typed = () => ({ q: 'tea', url: `${settings.http}/tea/`, text: 'tea' })

const agent = new http.Agent({ keepAlive: true })

/// Requests a page like a browser.
export function get(url, fields = {}) {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'text/html', 'accept-language': 'en', ...fields }
    const sent = http.get(url, { agent, headers }, answer => {
      const parts = []
      answer.on('data', part => parts.push(part))
      answer.on('end', () => resolve({ url, status: answer.statusCode, fields: answer.headers, body: Buffer.concat(parts) }))
      answer.on('error', reject)
    })
    sent.on('error', reject)
  })
}

const REFERENCES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/// HTML text with its character references decoded.
export const plain = html => html
  .replace(/&#(x?)([0-9a-f]+);/gi, (_, hex, number) => String.fromCodePoint(parseInt(number, hex ? 16 : 10)))
  .replace(/&(amp|lt|gt|quot|apos);/g, (_, name) => REFERENCES[name])

/// The attributes of a tag.
function attributes(tag) {
  const found = {}
  for (const [, name, value] of tag.matchAll(/([\w-]+)(?:="([^"]*)")?/g)) found[name] ??= plain(value ?? '')
  return found
}

/// The links of a page, as `[url, text]`.
export function links(html) {
  return [...html.matchAll(/<a (.*?)>(.*?)<\/a>/gs)]
    .map(([, tag, text]) => [attributes(tag).href, plain(text.replace(/<[^>]*>/g, ''))])
    .filter(([href]) => href !== undefined)
}

/// The targets of the GET forms of a page, filled in.
function asked(html) {
  return [...html.matchAll(/<form (.*?)>(.*?)<\/form>/gs)].flatMap(([, tag, within]) => {
    const { method = 'get', action } = attributes(tag)
    if (method !== 'get' || !action) return []
    const url = new URL(action)
    for (const [, field] of within.matchAll(/<input (.*?)>/gs)) {
      const { type = 'text', name, value = '' } = attributes(field)
      if (name && type !== 'checkbox') url.searchParams.append(name, type === 'hidden' ? value : value || typed()[name] || '')
    }
    for (const [, select, options] of within.matchAll(/<select (.*?)>(.*?)<\/select>/gs)) {
      const first = options.match(/<option (.*?)>/s)
      if (first) url.searchParams.append(attributes(select).name, attributes(first[1]).value)
    }
    return [url.href]
  })
}

/// The kind of a page: its address without the parts that differ among similar pages.
export function kind(address) {
  const url = new URL(address)
  const [, first, second, ...rest] = url.pathname.split('/')
  const names = url.search.includes('://') && !/[?&]\w+=/.test(url.search) ? ['URL'] : [...new Set(url.searchParams.keys())].sort()
  const known = first === 'index' || second === undefined || second === '' ? second : '*'
  return `/${[first, known, ...rest.map(() => '*')].filter(part => part !== undefined).join('/')}?${names.join('&')}`
}

/// Follows every link of ours from `/` on, and calls `visit` with each HTML page.
export async function crawl(visit) {
  const { origin } = new URL(settings.base)
  const [seen, counts] = [new Set(), new Map()]
  const waiting = []
  const want = (address, from) => {
    if (!URL.canParse(address, settings.base)) return fault(from, `links to ${address}`)
    const url = new URL(address, settings.base)
    url.hash = ''
    if (url.origin !== origin || seen.has(url.href) || FOREIGN.test(url.pathname)) return undefined
    seen.add(url.href)
    const count = (counts.get(kind(url.href)) ?? 0) + 1
    counts.set(kind(url.href), count)
    if (count <= OF_A_KIND && seen.size <= IN_ALL) waiting.push([url.href, from])
    return undefined
  }
  want(`${settings.base}/`, 'the start')
  while (waiting.length) {
    const [url, from] = waiting.shift()
    const page = await get(url)
    if (page.status >= 300 && page.status < 400) {
      want(page.fields.location, url)
    } else if (page.status !== 200) {
      fault(from, `links to ${url}, which has the status ${page.status}`)
    } else if (/^text\/html/.test(page.fields['content-type'])) {
      const html = page.body.toString()
      await visit({ url, kind: kind(url), html, fields: page.fields })
      for (const [href] of links(html)) want(href, url)
      for (const action of asked(html)) want(action, url)
    }
  }
  return counts
}
