// Opens the pages of exports in Chromium with several readers, and compares their pictures with those through the proxy.
//
//   node pictures.mjs SETTINGS
//
// SETTINGS is a JSON object: `modules` (playwright-core), `viewer` (the package replaywebpage), `chromium`, `home`, `out`
// (a directory for pictures that differ), `proxy`, `archive` (for the viewer), `folder`, `pywb` and `kiwix` (addresses),
// and `pages`, each with `url`, `title`, `colour` (the red, green and blue of its text) and `file`.
import { createReadStream, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const settings = JSON.parse(process.argv[2])
const playwright = createRequire(path.join(settings.modules, '/'))('playwright-core')
const PATIENCE = 60_000

const shell = `<!doctype html><title>Viewer</title><script src="/ui.js"></script>
  <style>html, body, replay-web-page { height: 100%; margin: 0; display: block }</style>
  <script>
    const viewer = document.createElement('replay-web-page')
    viewer.setAttribute('source', '/archive.wacz')
    viewer.setAttribute('url', new URLSearchParams(location.search).get('url'))
    viewer.setAttribute('replayBase', '/replay/')
    document.documentElement.append(viewer)
  </script>`

const files = {
  '/ui.js': [path.join(settings.viewer, 'ui.js'), 'text/javascript'],
  '/replay/sw.js': [path.join(settings.viewer, 'sw.js'), 'text/javascript'],
  '/archive.wacz': [settings.archive, 'application/wacz']
}

const server = createServer((request, response) => {
  const target = new URL(request.url, 'http://here').pathname
  const [file, type] = files[target] ?? []
  if (!file) {
    response.writeHead(target === '/' ? 200 : 404, { 'Content-Type': 'text/html' })
    return response.end(target === '/' ? shell : '')
  }
  const size = statSync(file).size
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '')
  const [start, end] = range ? [Number(range[1]), range[2] ? Number(range[2]) : size - 1] : [0, size - 1]
  const fields = { 'Content-Type': type, 'Content-Length': end - start + 1, 'Accept-Ranges': 'bytes' }
  if (range) fields['Content-Range'] = `bytes ${start}-${end}/${size}`
  response.writeHead(range ? 206 : 200, fields)
  if (request.method === 'HEAD') return response.end()
  createReadStream(file, { start, end }).pipe(response)
})
await new Promise(done => server.listen(0, '127.0.0.1', done))
const base = `http://127.0.0.1:${server.address().port}`

const browser = await playwright.chromium.launch({
  executablePath: settings.chromium,
  env: { ...process.env, HOME: settings.home },
  timeout: PATIENCE,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-dev-shm-usage']
})

/// Title, whether the picture is loaded, and colour of the text.
function look(frame) {
  return frame.evaluate(() => JSON.stringify({
    title: document.title,
    picture: document.images[0]?.complete && document.images[0].naturalWidth > 0,
    text: document.body && getComputedStyle(document.body).color
  }))
}

/// Opens all pages with a reader. Returns their pictures.
async function pictures(address, options = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const found = []
  for (const one of settings.pages) {
    const want = JSON.stringify({ title: one.title, picture: true, text: `rgb(${one.colour.join(', ')})` })
    // A service worker may load the page once more.
    await page.goto(await address(one, page)).catch(() => {})
    found.push(await picture(page, want))
    // Otherwise a reader that shows nothing would take a minute for each page.
    if (!is_picture(found.at(-1))) break
  }
  await context.close()
  return found
}

const is_picture = found => found.subarray(1, 4).toString() === 'PNG'

/// The picture of the frame that looks as wanted. Parts of a page come one by one, and some readers load it again.
async function picture(page, want) {
  const deadline = Date.now() + PATIENCE
  let seen
  while (Date.now() < deadline) {
    seen = []
    for (const frame of page.frames()) {
      const looks = await look(frame).catch(error => String(error).slice(0, 80))
      seen.push(`${frame.url()} ${looks}`)
      const taken = looks === want && (await frame.locator('main').screenshot().catch(() => undefined))
      if (taken) return taken
    }
    await page.waitForTimeout(20)
  }
  return Buffer.from(`not shown: ${want}, but ${seen.join(', ')}`)
}

/// The files of the folder, from the links of its list.
let files_of_urls
async function in_folder(one, page) {
  const list = pathToFileURL(path.join(settings.folder, 'index.html')).href
  if (!files_of_urls) {
    await page.goto(list)
    const links = await page.evaluate(() => [...document.links].map(link => [link.textContent, link.href]))
    files_of_urls = new Map(links)
  }
  return files_of_urls.get(one.url) ?? list
}

/// The address of a page in kiwix-serve, without the frame of its reader. Its first page starts the service worker
/// of the ZIM file, which then opens the main page.
let has_worker = false
async function in_kiwix(one, page) {
  const base = `${settings.kiwix}/raw/site/content/A`
  if (!has_worker) {
    await page.goto(`${base}/index.html`)
    await page.waitForURL(url => !url.pathname.endsWith('/index.html'))
    has_worker = true
  }
  return `${base}/${one.url.replace(/^https?:\/\//, '')}`
}

const readers = {
  proxy: pictures(one => one.url, { proxy: { server: settings.proxy, bypass: '<-loopback>' } }),
  'replayweb.page': pictures(one => `${base}/?url=${encodeURIComponent(one.url)}`),
  folder: pictures(in_folder),
  file: pictures(one => pathToFileURL(one.file).href),
  pywb: pictures(one => `${settings.pywb}/all/${one.url}`),
  'kiwix-serve': pictures(in_kiwix)
}
const want = await readers.proxy
let wrong = 0
for (const [reader, shown] of Object.entries(readers)) {
  for (const [at, found] of (await shown).entries()) {
    if (is_picture(found) && want[at]?.equals(found)) continue
    wrong += 1
    console.log('wrong:', reader, settings.pages[at].url, is_picture(found) ? 'looks different' : found.toString())
    if (is_picture(found)) {
      mkdirSync(settings.out, { recursive: true })
      writeFileSync(path.join(settings.out, `${reader}-${at}.png`), found)
    }
  }
}
console.log(wrong ? `${wrong} wrong` : `${want.length} pages look the same in ${Object.keys(readers).length} readers`)
await browser.close()
server.closeAllConnections()
server.close()
process.exit(wrong ? 1 : 0)
