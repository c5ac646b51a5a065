/** Names of browsers by their product in `User-Agent` (RFC 9110 §10.1.5). Those that name others, too, come first. */
const browsers: readonly (readonly [name: string, product: RegExp])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\b(?:OPR|Opera|OPT)\//],
  ['Vivaldi', /\bVivaldi\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|Chromium|CriOS|HeadlessChrome)\//],
  ['Safari', /\bVersion\/.*\bSafari\//],
]

const systems: readonly (readonly [name: string, product: RegExp])[] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['macOS', /\bMac(?:intosh| OS X)\b/],
  ['Linux', /\b(?:Linux|X11)\b/],
]

/** Maximum length of the header that is looked at, in characters. */
const maxLength = 512

/**
 * Returns a short name for people of the program that sends a request, such as `Firefox (Windows)`, or the name
 * of its first product, such as `curl`. It says nothing that can be relied on: clients send what they like.
 * @returns null if the header names nothing
 */
export function browserOf(userAgent: string | undefined): string | null {
  const text = (userAgent ?? '').slice(0, maxLength)
  const nameIn = (list: typeof browsers) => list.find(([, product]) => product.test(text))?.[0]
  const browser = nameIn(browsers)
  const system = nameIn(systems)
  if (browser) return system === undefined ? browser : `${browser} (${system})`
  const [, product] = /^([A-Za-z][\w.-]{0,29})(?=$|[/ ])/.exec(text) ?? []
  return product === undefined || product === 'Mozilla' ? null : product
}
