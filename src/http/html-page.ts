import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The few pages that people see: one style, readable on a phone and in dark mode, all working without script. */
const style = `
:root { color-scheme: light dark; font: 1.05rem/1.5 system-ui, sans-serif }
body { max-width: 34rem; margin: 12vh auto 2rem; padding: 0 1.25rem; overflow-wrap: anywhere }
h1 { font-size: 1.4rem; line-height: 1.25 }
ul { list-style: none; padding: 0 }
li { margin: .6rem 0 }
a.choice { display: block; padding: .8rem 1rem; border: 1px solid color-mix(in srgb, currentColor 35%, transparent); border-radius: .5rem; text-decoration: none; color: inherit }
a.choice:hover, a.choice:focus-visible { border-color: currentColor; outline: 2px solid currentColor }
form p.search { display: flex; gap: .5rem; margin: .5rem 0 1rem }
input, button { font: inherit; padding: .6rem .8rem; border: 1px solid color-mix(in srgb, currentColor 50%, transparent); border-radius: .5rem; background: none; color: inherit }
input { flex: 1; min-width: 0 }
code, small { opacity: .75 }
`
const styleHash = createHash('sha256').update(style).digest('base64')
/** The policy of every answer, and this one style (https://www.w3.org/TR/CSP3/#framework-directive-source-list). */
const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
/** The same for a page with a form that is sent to ourselves. */
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

/** A page without any content, for a frame in a page of one of these origins and of no other. */
export const sendFramed = (reply: FastifyReply, title: string, origins: readonly string[]): FastifyReply =>
  reply
    // It can't name origins, and old browsers heed it beside frame-ancestors (CSP §6.4.2.2).
    .removeHeader('x-frame-options')
    .header(
      'content-security-policy',
      `default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors ${origins.join(' ') || "'none'"}`,
    )
    .type('text/html; charset=utf-8')
    .send(`<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeHtml(title)}</title></html>`)

const submit = 'document.forms[0].submit()'
const submitHash = createHash('sha256').update(submit).digest('base64')
/** Browsers apply `form-action` to every redirect that follows, and where those lead is up to the receiver (CSP §6.4.1). */
const postingPolicy = policy
  .replace("form-action 'none'", 'form-action *')
  .replace('style-src', `script-src 'sha256-${submitHash}'; style-src`)

/**
 * A page that sends a form to another site by itself, or by its button where no scripts run.
 * @param action an address that the service knows, not one that a request has brought
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

/** A sentence with `code` in backticks, as HTML. */
export const sentenceHtml = (text: string): string =>
  escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')

/** Whether the client is a browser that opens the address as a page, not a program. */
export const wantsPage = (request: FastifyRequest): boolean =>
  request.routeOptions.config?.isPage === true && /\btext\/html\b/.test(request.headers.accept ?? '')

declare module 'fastify' {
  interface FastifyContextConfig {
    /** People come here with a browser: errors are a page, if the browser asks for one. */
    isPage?: boolean
    /** Public, and the same for everybody: any origin may have it (CO2). */
    isAsset?: boolean
  }
}
