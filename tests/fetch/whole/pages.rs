//! Twenty pages that together contain every kind of sub-resource. `CDN` stands for another host.

/// How the site sends a resource.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Plain,
    /// With these fields, separated by line breaks.
    With(&'static str),
    /// With the content coding gzip.
    Coded,
    /// As a redirect to this path.
    Moved(&'static str),
}

use Manner::{Coded, Moved, Plain, With};

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css";
const SCRIPT: &str = "text/javascript";
const SVG: &str = "image/svg+xml";
const JSON: &str = "application/json";

/// Every site may read the resource, which is required for fonts and modules of other hosts.
const OPEN: Manner = With("Access-Control-Allow-Origin: *");

/// The pages: for each its path, a JavaScript condition that is true in the complete page, and its
/// HTML.
pub(super) const PAGES: [(&str, &str, &str); 20] = [
    (
        "/",
        "true",
        "<!DOCTYPE html><title>Front</title><link rel=icon href=/icon.png><h1>Front</h1>\
         <a href=/sheets>1</a><a href=/urls>2</a><a href=/sets>3</a><a href=/fonts>4</a><a href=/srcset>5</a>\
         <a href=/picture>6</a><a href=/lazy>7</a><a href=/modules>8</a><a href=/classic>9</a>\
         <a href=/inline-svg>10</a><a href=/svg>11</a><a href=/frames>12</a><a href=/frameset>13</a>\
         <a href=/app>14</a><a href=/media>15</a><a href=/base>16</a><a href=/latin>17</a>\
         <a href=/preload>18</a><a href=/xhtml>19</a>",
    ),
    (
        "/sheets",
        "getComputedStyle(document.body).color == 'rgb(1, 2, 3)'",
        "<!DOCTYPE html><title>Sheets</title><link rel=icon href=/icon.png>\
         <link rel=stylesheet href=/s/main.css><link rel=stylesheet media=print href=/s/print.css>\
         <link rel='alternate stylesheet' title=other href=/s/other.css>\
         <link rel=stylesheet media='(max-width: 100px)' href=/s/narrow.css>\
         <link rel=stylesheet href='CDN/s/far.css'><link rel=stylesheet href=/s/moved.css>\
         <style>@import '/s/inline.css' screen; p { background: url(/s/p.png) }</style>\
         <body><p style='background:url(&quot;/s/attribute.png?a=1&amp;b=2&quot;)'>x",
    ),
    (
        "/urls",
        "true",
        "<!DOCTYPE html><title>URLs</title><link rel=icon href=/icon.png>\
         <link rel=stylesheet href=/u/urls.css><ul><li>x</ul><p class=a>x<p class=b>x<p class=c>x\
         <p class=d>x<p class=e>x<p class=f>x<p class=g>x<div class=h>x<i>y</i></div>",
    ),
    (
        "/sets",
        "true",
        "<!DOCTYPE html><title>Sets</title><link rel=icon href=/icon.png><style>\
         .a { background: image-set('/i/a1.png' 1x, '/i/a2.png' 2x) }\
         .b { background: -webkit-image-set(url(/i/b1.png) 1x, url(/i/b2.png) 3x) }\
         .c { background: image-set(url(/i/c.avif) type('image/avif'), url(/i/c.png) type('image/png')) }\
         .d { content: image-set(url(/i/d2.png) 192dpi, url(/i/d1.png) 96dpi) }\
         </style><p class=a>x<p class=b>x<p class=c>x<img class=d>",
    ),
    (
        "/fonts",
        "document.fonts.status == 'loaded' && [...document.fonts].some(f => f.status != 'unloaded')",
        "<!DOCTYPE html><title>Fonts</title><link rel=icon href=/icon.png><style>\
         @font-face { font-family: One; src: url(/f/one.woff2) format('woff2'), url(/f/one.woff) format('woff') }\
         @font-face { font-family: Two; src: local('No such font'), url('/f/two.ttf') format('truetype') }\
         @font-face { font-family: Far; src: url(CDN/f/far.woff2) }\
         @font-face { font-family: Part; src: url(/f/latin.woff2); unicode-range: U+0000-00FF }\
         @font-face { font-family: Part; src: url(/f/greek.woff2); unicode-range: U+0370-03FF }\
         .a { font-family: One } .b { font-family: Two } .c { font-family: Far } .d { font-family: Part }\
         </style><p class=a>x<p class=b>x<p class=c>x<p class=d>x \u{3b1}",
    ),
    (
        "/srcset",
        "true",
        "<!DOCTYPE html><title>Candidates</title><link rel=icon href=/icon.png>\
         <img src=/r/a.png srcset='/r/a2.png 2x, /r/a3.png 3x'>\
         <img src=/r/b.png srcset='/r/b320.png 320w, /r/b1366.png 1366w, /r/b4000.png 4000w'>\
         <img srcset='/r/c300.png 300w, /r/c700.png 700w, /r/c1400.png 1400w' \
         sizes='(max-width: 600px) 100vw, (min-width: 1200px) calc(50vw - 10px), 33vw'>\
         <img srcset='/r/d400.png 400w, /r/d800.png 800w' sizes='min(30em, 90vw)'>\
         <img src=/r/e.png srcset='/r/e,with,commas.png 1x'><img src=/r/moved.png><img src='CDN/r/far.png'>",
    ),
    (
        "/picture",
        "true",
        "<!DOCTYPE html><title>Pictures</title><link rel=icon href=/icon.png>\
         <picture><source type=image/webp srcset=/p/a.webp><img src=/p/a.png></picture>\
         <picture><source type=image/jxl srcset=/p/b.jxl><source type=image/avif srcset=/p/b.avif><img src=/p/b.png></picture>\
         <picture><source media='(max-width: 700px)' srcset=/p/c-small.png>\
         <source media='(min-width: 701px)' srcset='/p/c-wide.png 1x, /p/c-wide2.png 2x'><img src=/p/c.png></picture>\
         <picture><source media=print srcset=/p/d-print.png><img src=/p/d.png></picture>\
         <picture><source media='(prefers-color-scheme: dark)' srcset=/p/e-dark.png><img src=/p/e.png></picture>\
         <picture><source media='(orientation: portrait)' srcset=/p/f-tall.png><img src=/p/f.png></picture>",
    ),
    (
        "/lazy",
        "(scrollTo(0, document.images[0].complete ? 9000 : 0), document.images.length == 6)",
        "<!DOCTYPE html><title>Lazy</title><link rel=icon href=/icon.png>\
         <img loading=lazy width=50 height=50 src=/l/native.png><img data-src=/l/data.png src='data:,'>\
         <img data-srcset='/l/set1.png 1x, /l/set2.png 2x'><img data-original=/l/original.png>\
         <div data-bg=/l/background.png>x</div><iframe data-src=/l/frame.html></iframe>\
         <noscript><img src=/l/noscript.png></noscript><template><img src=/l/template.png></template>\
         <div style='height:9000px'></div><img loading=lazy width=50 height=50 src=/l/below.png>\
         <script>for (const e of document.querySelectorAll('[data-src]')) e.src = e.dataset.src;\
         for (const e of document.querySelectorAll('[data-srcset]')) e.srcset = e.dataset.srcset;\
         for (const e of document.querySelectorAll('[data-original]')) e.src = e.dataset.original;\
         for (const e of document.querySelectorAll('[data-bg]')) e.style.backgroundImage = `url(${e.dataset.bg})`;\
         document.body.append(document.querySelector('template').content.cloneNode(true).firstChild.cloneNode());\
         </script>",
    ),
    (
        "/modules",
        "window.ran == 9",
        "<!DOCTYPE html><title>Modules</title><link rel=icon href=/icon.png>\
         <script type=importmap>{\"imports\":{\"named\":\"/m/named.js\",\"many/\":\"/m/many/\"},\
         \"scopes\":{\"/m/deep/\":{\"named\":\"/m/other.js\"}}}</script>\
         <script type=module src=/m/main.js></script>\
         <script type=module>import { one } from './m/one.js'; import 'many/two.js';\
         window.ran = (window.ran || 0) + one;</script>",
    ),
    (
        "/classic",
        "window.done === true",
        "<!DOCTYPE html><title>Scripts</title><link rel=icon href=/icon.png>\
         <script src=/c/first.js></script><script async src=/c/async.js></script>\
         <script defer src='/c/defer.js?v=1'></script><script nomodule src=/c/old.js></script>\
         <script src=CDN/c/far.js crossorigin></script><script type='text/javascript' src=/c/coded.js></script>",
    ),
    (
        "/inline-svg",
        "true",
        "<!DOCTYPE html><title>Inline</title><link rel=icon href=/icon.png>\
         <svg width=90 height=90><image href=/v/a.png width=9 height=9 /><image xlink:href=/v/b.png width=9 height=9 />\
         <use href='/v/sprite.svg#x'/><use xlink:href='/v/sprite2.svg#y'/>\
         <filter id=f><feImage href=/v/filter.png /></filter><rect width=9 height=9 filter=url(#f) />\
         <rect width=9 height=9 fill='url(/v/paint.svg#p)'/><rect width=9 height=9 style='mask:url(/v/mask.svg#m)'/>\
         <style>circle { fill: red } .z { background: url(/v/style.png) }</style>\
         <a href=/><text>x</text></a></svg><p class=z>x",
    ),
    (
        "/svg",
        "true",
        "<!DOCTYPE html><title>SVG</title><link rel=icon href=/icon.png>\
         <img src=/v/plain.svg><object data=/v/object.svg type=image/svg+xml></object>\
         <embed src=/v/embed.svg type=image/svg+xml><iframe src=/v/frame.svg></iframe>",
    ),
    (
        "/frames",
        "document.querySelector('iframe').contentWindow.inner === true",
        "<!DOCTYPE html><title>Frames</title><link rel=icon href=/icon.png>\
         <iframe src=/fr/outer.html></iframe><iframe loading=lazy src=/fr/lazy.html></iframe>\
         <iframe src='CDN/fr/far.html'></iframe><iframe src=/fr/moved.html></iframe>\
         <iframe srcdoc=\"<base href=http://HOST/fr/><link rel=stylesheet href=doc.css><img src='doc.png'>\"></iframe>\
         <iframe src=/fr/onward.html></iframe>",
    ),
    (
        "/frameset",
        "window.length == 2",
        "<!DOCTYPE html><html><head><title>Frame set</title><link rel=icon href=/icon.png></head>\
         <frameset cols='50%,*'><frame src=/fs/left.html><frame src=/fs/right.html></frameset></html>",
    ),
    (
        "/app",
        "true",
        "<!DOCTYPE html><title>App</title><link rel='shortcut icon' href=/a/icon.ico sizes=32x32>\
         <link rel=icon type=image/svg+xml href=/a/icon.svg><link rel=apple-touch-icon href=/a/touch.png>\
         <link rel=manifest href=/a/app.webmanifest><meta property=og:image content=/a/preview.png>\
         <meta name=msapplication-TileImage content=/a/tile.png>",
    ),
    (
        "/media",
        "true",
        "<!DOCTYPE html><title>Media</title><link rel=icon href=/icon.png>\
         <video src=/me/film.mp4 poster=/me/poster.png preload=auto></video>\
         <audio preload=auto><source src=/me/sound.ogg type=audio/ogg><source src=/me/sound.mp3></audio>\
         <object data=/me/thing.bin></object><img width=1 height=1 src=/me/pixel.gif>",
    ),
    (
        "/base",
        "true",
        "<!DOCTYPE html><title>Base</title><base href=/b/deep/><link rel=icon href=/icon.png>\
         <img src=a.png><img src=../up.png><img src='./two words.png'><img src='?query'><img src='//HOST/b/host.png'>\
         <img src='c.png#part'><img src='d&amp;e.png?x=1&amp;y=%20'><img src='%7Euser/f.png'><img src='g;h=1.png'>\
         <table background=t.png><tr><td background=td.png>x</table><input type=image src=button.png>\
         <img src=' \n spaces.png '><img src='back\\slash.png'><link rel=stylesheet href=base.css>",
    ),
    (
        "/latin",
        "document.querySelectorAll('img').length == 2",
        "<!DOCTYPE html><meta charset=windows-1252><title>Latin</title><link rel=icon href=/icon.png>\
         <img src='/la/\u{e4}.png'><img src='/la/q.png?\u{e4}=\u{f6}'><link rel=stylesheet href=/la/latin.css><p>x",
    ),
    (
        "/preload",
        "true",
        "<!DOCTYPE html><title>Ahead</title><link rel=icon href=/icon.png>\
         <link rel=preload as=style href=/pre/style.css><link rel=preload as=script href=/pre/script.js>\
         <link rel=preload as=font crossorigin href=/pre/font.woff2><link rel=preload as=fetch crossorigin href=/pre/data.json>\
         <link rel=preload as=image href=/pre/image.png imagesrcset='/pre/i1.png 1x, /pre/i2.png 2x'>\
         <link rel=modulepreload href=/pre/module.js><link rel=prefetch href=/pre/next.css>\
         <link rel=preload as=image media='(max-width: 100px)' href=/pre/narrow.png>",
    ),
    (
        "/xhtml",
        "document.documentElement.namespaceURI == 'http://www.w3.org/1999/xhtml'",
        "<?xml version='1.0'?><?xml-stylesheet type='text/css' href='/x/pi.css'?>\
         <html xmlns='http://www.w3.org/1999/xhtml'><head><title>XHTML</title><link rel='icon' href='/icon.png'/>\
         <link rel='stylesheet' href='/x/link.css'/><style><![CDATA[ p { background: url(/x/cdata.png) } ]]></style>\
         </head><body><p>x<img src='/x/a.png?a&amp;b'/></p><svg xmlns='http://www.w3.org/2000/svg' \
         xmlns:xlink='http://www.w3.org/1999/xlink'><image xlink:href='/x/svg.png' width='9' height='9'/></svg>\
         <script src='/x/x.js'/></body></html>",
    ),
];

/// The resources that cannot be generated from their names: path, media type, body and manner.
pub(super) const FILES: &[(&str, &str, &str, Manner)] = &[
    (
        "/s/main.css",
        CSS,
        "@charset 'utf-8'; @import url(sub/one.css); @import 'sub/two.css' layer(x) supports(display: grid) screen;\
         @import url('sub/wide.css') (min-width: 300px); body { color: rgb(1, 2, 3) }",
        Plain,
    ),
    ("/s/sub/one.css", CSS, "@import '../three.css'; p { border-image: url(one.png) 1 }", Plain),
    ("/s/sub/two.css", CSS, "p { list-style: url(two.png) inside }", Coded),
    ("/s/sub/wide.css", CSS, "p::before { content: url(wide.png) }", Plain),
    (
        "/s/three.css",
        CSS,
        "p { cursor: url(cursor.png), auto } p::after { content: url(three.png) }",
        Plain,
    ),
    ("/s/print.css", CSS, "p { color: black }", Plain),
    ("/s/other.css", CSS, "p { color: blue }", Plain),
    ("/s/narrow.css", CSS, "p { color: green }", Plain),
    ("/s/inline.css", CSS, "body { background: url(inline.png) }", Plain),
    ("/s/moved.css", "", "", Moved("/s/there/moved-to.css")),
    (
        "/s/there/moved-to.css",
        CSS,
        "h1, p { outline-color: red; mask-image: url(from-there.png) }",
        Plain,
    ),
    ("/s/far.css", CSS, "html { background: url(far.png) }", Plain),
    (
        "/u/urls.css",
        CSS,
        ":root { --image: url('var.png') } li { list-style-image: url(list.png) }\
         .a { background: url(a\\ b.png), url(\"q'uote.png\"), linear-gradient(red, blue) }\
         .b { background-image: var(--image) } .c { border-image-source: url( spaced.png ) }\
         .d { mask: url(mask.png) } .e { background: url('data:image/png;base64,AA==') }\
         .f { shape-outside: url(shape.png); float: left }\
         @media (min-width: 100px) { .g { background: url(wide.png) } }\
         @supports (display: grid) { .h { & i { background: url(nested.png) } } }\
         /* url(comment.png) */ .none { background: url() }\
         .a::after { content: url(after.png) } @layer x { .b { cursor: url(pointer.png) 2 2, auto } }\
         @container (min-width: 1px) { .c { background: url(container.png) } }",
        Plain,
    ),
    ("/m/main.js", SCRIPT, MAIN, Plain),
    ("/m/a.js", SCRIPT, "export { b as default } from './b.js'; export * from \"./c.js\"", Plain),
    ("/m/b.js", SCRIPT, "export const b = 1;", Coded),
    ("/m/c.js", SCRIPT, "// import './not.js'\nexport const c = `import './nor.js'`;", Plain),
    ("/m/deep/d.js", SCRIPT, "import named from 'named'; export default named;", Plain),
    ("/m/named.js", SCRIPT, "export default 'named'", Plain),
    ("/m/other.js", SCRIPT, "export default 'other'", Plain),
    ("/m/late.js", SCRIPT, "export const late = 1;", Plain),
    (
        "/m/worker.js",
        SCRIPT,
        "import { b } from './b.js'; import './worker-only.js'; postMessage(b)",
        Plain,
    ),
    ("/m/worker-only.js", SCRIPT, "self.only = 1", Plain),
    ("/m/old-worker.js", SCRIPT, "importScripts('old-a.js', './old-b.js'); postMessage(1)", Plain),
    ("/m/old-a.js", SCRIPT, "self.a = 1", Plain),
    ("/m/old-b.js", SCRIPT, "self.b = 1", Plain),
    ("/m/data.json", JSON, "{\"one\":1}", Plain),
    ("/m/sheet.css", CSS, "p { color: red }", Plain),
    ("/m/one.js", SCRIPT, "export const one = 1", Plain),
    ("/m/many/two.js", SCRIPT, "import './three.js'", Plain),
    ("/m/many/three.js", SCRIPT, "window.three = 1", Plain),
    (
        "/c/first.js",
        SCRIPT,
        "window.first = 1; import('./classic-import.js'); import('/c/again.js')",
        Plain,
    ),
    ("/c/again.js", SCRIPT, "export {}", Plain),
    ("/c/classic-import.js", SCRIPT, "export {}", Plain),
    ("/c/async.js", SCRIPT, "window.asynced = 1", Plain),
    ("/c/defer.js", SCRIPT, "window.done = true", Plain),
    ("/c/old.js", SCRIPT, "window.old = 1", Plain),
    ("/c/coded.js", SCRIPT, "window.coded = 1", Coded),
    ("/c/far.js", SCRIPT, "window.far = 1", OPEN),
    (
        "/v/sprite.svg",
        SVG,
        "<svg xmlns='http://www.w3.org/2000/svg'><g id='x'><rect width='1' height='1'/></g></svg>",
        Plain,
    ),
    (
        "/v/sprite2.svg",
        SVG,
        "<svg xmlns='http://www.w3.org/2000/svg'><g id='y'><rect width='1' height='1'/></g></svg>",
        Plain,
    ),
    (
        "/v/paint.svg",
        SVG,
        "<svg xmlns='http://www.w3.org/2000/svg'><linearGradient id='p'/></svg>",
        Plain,
    ),
    ("/v/mask.svg", SVG, "<svg xmlns='http://www.w3.org/2000/svg'><mask id='m'/></svg>", Plain),
    ("/v/object.svg", SVG, VECTOR, Plain),
    ("/v/embed.svg", SVG, VECTOR, Plain),
    ("/v/frame.svg", SVG, VECTOR, Plain),
    ("/v/vector.css", CSS, "rect { fill: red }", Plain),
    ("/v/imported.css", CSS, "rect { stroke: blue }", Plain),
    ("/v/vector.js", SCRIPT, "document.documentElement.setAttribute('ran', 1)", Plain),
    (
        "/fr/outer.html",
        HTML,
        "<link rel=stylesheet href=outer.css><iframe src=inner.html></iframe><script>inner = true</script>",
        Plain,
    ),
    ("/fr/outer.css", CSS, "body { background: url(outer.png) }", Plain),
    (
        "/fr/inner.html",
        HTML,
        "<img src=inner.png><script type=module>import './inner.js'</script>",
        Plain,
    ),
    ("/fr/inner.js", SCRIPT, "window.x = 1", Plain),
    ("/fr/lazy.html", HTML, "<img src=lazy.png>", Plain),
    ("/fr/far.html", HTML, "<img src=/fr/far-inner.png>", Plain),
    ("/fr/moved.html", "", "", Moved("/fr/there/")),
    ("/fr/there/", HTML, "<img src=there.png>", Plain),
    ("/fr/doc.css", CSS, "p { color: red }", Plain),
    ("/fr/onward.html", HTML, "<meta http-equiv=refresh content='0; url=/fr/at-last.html'>", Plain),
    ("/fr/at-last.html", HTML, "<img src=at-last.png>", Plain),
    ("/fs/left.html", HTML, "<img src=left.png>", Plain),
    ("/fs/right.html", HTML, "<link rel=stylesheet href=right.css>", Plain),
    ("/fs/right.css", CSS, "body { background: url(right.png) }", Plain),
    ("/l/frame.html", HTML, "<img src=framed.png>", Plain),
    (
        "/a/app.webmanifest",
        "application/manifest+json",
        "{\"name\":\"App\",\"start_url\":\"/app\",\"icons\":[{\"src\":\"big.png\",\"sizes\":\"192x192\"},\
         {\"src\":\"huge.png\",\"sizes\":\"512x512\"}]}",
        Plain,
    ),
    ("/b/deep/base.css", CSS, "table { background: url(from-css.png) }", Plain),
    (
        "/la/latin.css",
        "text/css; charset=windows-1252",
        "p { background: url('\u{e4}-css.png') }",
        Plain,
    ),
    ("/pre/style.css", CSS, "p { color: red }", Plain),
    ("/pre/script.js", SCRIPT, "1", Plain),
    ("/pre/data.json", JSON, "{}", OPEN),
    ("/pre/module.js", SCRIPT, "import './module-part.js'", Plain),
    ("/pre/module-part.js", SCRIPT, "export {}", Plain),
    ("/pre/next.css", CSS, "p { color: red }", Plain),
    ("/pre/header.css", CSS, "p { color: blue }", Plain),
    ("/pre/header.js", SCRIPT, "export {}", Plain),
    ("/x/pi.css", CSS, "p { border-image: url(pi.png) 1 }", Plain),
    ("/x/link.css", CSS, "p { color: red }", Plain),
    ("/x/x.js", SCRIPT, "window.x = 1", Plain),
    ("/r/moved.png", "", "", Moved("/r/there.png")),
];

/// Modules that are imported in every way that the scanner must find.
const MAIN: &str = "import b, { c } from './a.js';\n\
    import named from 'named';\n\
    import other from './deep/d.js';\n\
    import data from './data.json' with { type: 'json' };\n\
    import sheet from './sheet.css' with { type: 'css' };\n\
    const count = n => { window.ran = (window.ran || 0) + n };\n\
    count(b); count(data.one); count(named == 'named' && other == 'other' ? 1 : 0);\n\
    count(sheet instanceof CSSStyleSheet ? 1 : 0);\n\
    import('./late.js').then(({ late }) => count(late));\n\
    const hears = worker => { worker.onmessage = () => count(1) };\n\
    hears(new Worker(new URL('./worker.js', import.meta.url), { type: 'module' }));\n\
    hears(new Worker(new URL('old-worker.js', import.meta.url)));\n\
    const image = new Image(); image.onload = () => count(1);\n\
    image.src = new URL('./module.png', import.meta.url);\n";

/// An image that is a document with its own resources.
const VECTOR: &str = "<?xml-stylesheet href='vector.css'?><svg xmlns='http://www.w3.org/2000/svg' \
    xmlns:xlink='http://www.w3.org/1999/xlink'><style>@import 'imported.css'; rect { fill: url(#none) }</style>\
    <image href='vector.png' width='9' height='9'/><image xlink:href='linked.png' width='9' height='9'/>\
    <rect width='9' height='9'/><script href='vector.js'/></svg>";

/// The additional header fields of pages, by path.
pub(super) const FIELDS: &[(&str, &str)] = &[(
    "/preload",
    "Link: </pre/header.css>; rel=preload; as=style, </pre/header.png>; as=\"image\"; rel=\"preload\"\n\
     Link: </pre/header.js>; rel=modulepreload",
)];
