import { sizeOf } from './export-document.ts'
import type { DocumentEntry, DocumentPart, SessionDocument } from './export-document.ts'

/**
 * A conversation as one HTML page, piece by piece: no script, nothing loaded from anywhere, and a policy that forbids
 * both. Every text is escaped, and each entry can be linked to by its uuid. Pure.
 */
export function* renderHtml(page: SessionDocument): Generator<string> {
  const title = escaped(page.title)
  const facts = page.facts.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`)
  yield `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header><h1>${title}</h1><dl>${facts.join('')}</dl></header>
`
  for (const entry of page.entries) yield renderEntry(entry)
  if (page.damage.length > 0) {
    const items = page.damage.map((line) => `<li>${escaped(line)}</li>`)
    yield `<section class="damage"><h2>Damage in the file</h2><ul>${items.join('')}</ul></section>\n`
  }
  yield '</main>\n</body>\n</html>\n'
}

function renderEntry({ uuid, speaker, time, parts }: DocumentEntry): string {
  const kind = speaker.toLowerCase().replace(' ', '-')
  const when = time === '' ? '' : ` <time>${escaped(time)}</time>`
  const heading = `<h2>${escaped(speaker)}${when}</h2>`
  return `<section class="${kind}" id="${escaped(uuid)}">${heading}${parts.map(renderPart).join('')}</section>\n`
}

function renderPart(part: DocumentPart): string {
  switch (part.kind) {
    case 'prose':
      return `<div class="prose">${escaped(part.text)}</div>`
    case 'thinking':
      return `<details><summary>Thinking</summary><div class="prose">${escaped(part.text)}</div></details>`
    case 'code':
      // The parser drops a line feed right after the tag.
      return `<h3>${escaped(part.label)}</h3><pre>\n${escaped(part.text)}</pre>`
    case 'image':
      return renderImage(part.mediaType, part.base64)
    default:
      return `<p class="note">${escaped(part.text)}</p>`
  }
}

/** An image of a kind that cannot hold anything active; of any other only what it is. */
function renderImage(mediaType: string, base64: string): string {
  const isSafe = /^image\/(?:png|jpeg|gif|webp)$/.test(mediaType) && /^[A-Za-z0-9+/]*={0,2}$/.test(base64)
  return isSafe
    ? `<img alt="${mediaType}" src="data:${mediaType};base64,${base64}">`
    : `<p class="note">image (${escaped(mediaType)}, ${sizeOf(base64)} bytes)</p>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  // The parser would make a line feed of it; a zero byte has no form in HTML.
  '\r': '&#13;',
  '\0': '\uFFFD',
}

/** A text as it stands in an element or in a quoted attribute. */
function escaped(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[&<>"'\r\u0000]/g, (character) => ENTITIES[character] ?? '')
}

const STYLE = `
:root{color-scheme:light dark;--back:#fff;--text:#1f2328;--soft:#59636e;--line:#d1d9e0;--code:#f6f8fa;--user:#0969da;--model:#8250df;--bad:#cf222e}
@media(prefers-color-scheme:dark){:root{--back:#0d1117;--text:#e6edf3;--soft:#9198a1;--line:#3d444d;--code:#151b23;--user:#4493f8;--model:#ab7df8;--bad:#f85149}}
body{margin:0;background:var(--back);color:var(--text);font:16px/1.55 system-ui,sans-serif}
main{max-width:52rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.6rem;line-height:1.25;overflow-wrap:anywhere}
h2{font-size:.95rem;margin:0 0 .4rem}
h3{font-size:.85rem;margin:.8rem 0 .3rem;color:var(--soft);overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;font-size:.9rem;color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
time{font-weight:400;color:var(--soft);font-size:.8rem;margin-left:.5rem}
section{border-left:3px solid var(--line);padding:.2rem 0 .2rem 1rem;margin:1.2rem 0}
section:target{background:var(--code)}
.user{border-color:var(--user)}.user h2{color:var(--user)}
.assistant{border-color:var(--model)}.assistant h2{color:var(--model)}
.damage{border-color:var(--bad)}.damage h2{color:var(--bad)}
.prose{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext}
.prose+.prose{margin-top:.8rem}
pre{background:var(--code);border:1px solid var(--line);border-radius:6px;padding:.7rem;margin:0;font:.82rem/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext}
details{color:var(--soft);margin:.4rem 0}summary{cursor:pointer}
.note{color:var(--soft);font-style:italic;margin:.3rem 0;overflow-wrap:anywhere}
img{max-width:100%;height:auto;display:block;margin:.5rem 0}
@media print{main{max-width:none}section{break-inside:avoid-page}}
`
