import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * The style of the few pages that people see: readable on a phone and in dark mode, and all working without scripts.
 * Its colors are those of the console (console/src/styles/tokens.css), because people see both as one service.
 */
const style = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "Open Sans", sans-serif;
  --paper: light-dark(oklch(0.988 0.005 90), oklch(0.205 0.012 210));
  --desk: light-dark(oklch(0.963 0.009 88), oklch(0.172 0.012 210));
  --raised: light-dark(oklch(1 0 0), oklch(0.245 0.013 210));
  --ink: light-dark(oklch(0.255 0.018 70), oklch(0.925 0.01 90));
  --line: light-dark(oklch(0.888 0.012 85), oklch(0.33 0.013 205));
  --line-strong: light-dark(oklch(0.62 0.018 80), oklch(0.58 0.016 200));
  --accent: light-dark(oklch(0.43 0.085 165), oklch(0.8 0.095 168));
  --accent-wash: light-dark(oklch(0.938 0.026 165), oklch(0.29 0.035 172)) }
body { margin: 0; padding: 8vh 1rem 2rem; background: var(--desk); color: var(--ink); overflow-wrap: anywhere }
main { box-sizing: border-box; max-width: 34rem; margin: 0 auto; padding: 1.5rem; border: 1px solid var(--line); border-radius: 9px; background: var(--paper) }
h1 { margin-top: 0; font-size: 1.5rem; line-height: 1.25 }
a { color: var(--accent) }
ul { list-style: none; padding: 0 }
li { margin: .6rem 0 }
a.choice { display: block; padding: .7rem 1rem; border: 1px solid var(--line-strong); border-radius: 6px; background: var(--raised); text-decoration: none; color: inherit }
a.choice:hover { background: var(--accent-wash); border-color: var(--accent) }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
form p.search { display: flex; gap: .5rem; margin: .5rem 0 1rem }
input, button { font: inherit; padding: .5rem .8rem; border: 1px solid var(--line-strong); border-radius: 6px; background: var(--raised); color: inherit }
button { cursor: pointer }
input { flex: 1; min-width: 0 }
code, small { opacity: .8 }
`
const styleHash = createHash('sha256').update(style).digest('base64')
/** The policy of every answer plus this one style (https://www.w3.org/TR/CSP3/#framework-directive-source-list). */
const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
/** The policy of a page whose form is sent to this service. */
export const ownFormPolicy = policy.replace("form-action 'none'", "form-action 'self'")

/** @param body HTML; text from elsewhere must have gone through `escapeHtml` */
export function sendPage(
  reply: FastifyReply,
  title: string,
  body: string,
  contentPolicy = policy,
): FastifyReply {
  return reply
    .header('content-security-policy', contentPolicy)
    .type('text/html; charset=utf-8')
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">` +
        `<title>${escapeHtml(title)}</title><style>${style}</style><main><h1>${escapeHtml(title)}</h1>${body}</main></html>`,
    )
}

/** Sends an empty page that only pages of these origins may frame. */
export const sendFramed = (reply: FastifyReply, title: string, origins: readonly string[]): FastifyReply =>
  reply
    // The header can't name origins, and old browsers apply it besides frame-ancestors (CSP §6.4.2.2).
    .removeHeader('x-frame-options')
    .header(
      'content-security-policy',
      `default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors ${origins.join(' ') || "'none'"}`,
    )
    .type('text/html; charset=utf-8')
    .send(`<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeHtml(title)}</title></html>`)

const submit = 'document.forms[0].submit()'
const submitHash = createHash('sha256').update(submit).digest('base64')
/**
 * The policy of a page that posts elsewhere. Browsers apply `form-action` to every redirect that follows, and
 * the receiver decides where those lead (CSP §6.4.1).
 */
const postingPolicy = policy
  .replace("form-action 'none'", 'form-action *')
  .replace('style-src', `script-src 'sha256-${submitHash}'; style-src`)

/**
 * Sends a page that submits a form to another site by itself, or by its button if scripts are off.
 * @param action an address that the service knows, not one from a request
 */
export function sendPosting(
  reply: FastifyReply,
  title: string,
  action: string,
  fields: Readonly<Record<string, string>>,
): FastifyReply {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  )
  const form = `<form method="post" action="${escapeHtml(action)}">${inputs.join('')}<button>Continue</button></form>`
  return sendPage(reply, title, `${form}<script>${submit}</script>`, postingPolicy)
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, one => escapes[one] ?? one)

/** Turns a sentence into HTML, with the text in backticks as `code`. */
export const sentenceHtml = (text: string): string =>
  escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')

/** True if the client is a browser that opens the address as a page, not a program. */
export const wantsPage = (request: FastifyRequest): boolean =>
  request.is404
    ? isNavigation(request)
    : request.routeOptions.config?.isPage === true && /\btext\/html\b/.test(request.headers.accept ?? '')

/**
 * True if a person follows an address. Some programs name text/html, too, by default (Java), so without the header
 * of Fetch Metadata a browser is told by what all of them have accepted for navigations.
 */
const isNavigation = ({ method, headers }: FastifyRequest) =>
  (method === 'GET' || method === 'HEAD') &&
  (headers['sec-fetch-mode'] === undefined
    ? /\btext\/html\b.*\bapplication\/xhtml\+xml\b/.test(headers.accept ?? '')
    : headers['sec-fetch-mode'] === 'navigate')

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True if people open this address in a browser: errors are shown as a page, if the browser asks for one. */
    isPage?: boolean
    /** True if the answer is public and independent of the caller: any origin may have it (CO2). */
    isAsset?: boolean
  }
}
