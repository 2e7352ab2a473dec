// Opens pages of a WACZ with replayweb.page in Chromium, from a server on this machine.
//
//   node replayweb.mjs SETTINGS
//
// SETTINGS is a JSON object: `modules` (playwright-core), `viewer` (the package replaywebpage), `chromium`, `home`,
// `archive`, and `pages`, each with `url`, `title` and `colour`: the red, green and blue of its picture and of its text.
import { createReadStream, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import path from 'node:path'

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
const page = await browser.newPage()
page.setDefaultTimeout(PATIENCE)

/// Waits for the frame that shows the page of the archive.
async function shown(url) {
  const deadline = Date.now() + PATIENCE
  for (;;) {
    const frame = page.frames().find(one => one.url().endsWith(`mp_/${url}`))
    if (frame) return frame
    if (Date.now() > deadline) {
      throw new Error(`${url} is not shown, but ${page.frames().map(one => one.url())}`)
    }
    await page.waitForTimeout(50)
  }
}

/// Title, first pixel of the picture and colour of the text, as far as they are loaded.
function look(frame) {
  return frame.evaluate(() => {
    const context = document.createElement('canvas').getContext('2d')
    if (document.images[0]?.complete) context.drawImage(document.images[0], 0, 0)
    return JSON.stringify({
      title: document.title,
      picture: [...context.getImageData(0, 0, 1, 1).data].slice(0, 3),
      text: document.body && getComputedStyle(document.body).color
    })
  })
}

let wrong = 0
for (const { url, title, colour } of settings.pages) {
  await page.goto(`${base}/?url=${encodeURIComponent(url)}`)
  const want = JSON.stringify({ title, picture: colour, text: `rgb(${colour.join(', ')})` })
  const deadline = Date.now() + PATIENCE
  let found
  // The viewer loads the frame again when its index is ready, and the parts of a page come one by one.
  while (found !== want && Date.now() < deadline) {
    found = await look(await shown(url)).catch(error => String(error))
    if (found !== want) await page.waitForTimeout(50)
  }
  if (found !== want) {
    wrong += 1
    console.log('wrong:', url, found, want)
  }
}
console.log(wrong ? `${wrong} wrong` : 'replayed')
await browser.close()
server.closeAllConnections()
server.close()
process.exit(wrong ? 1 : 0)
