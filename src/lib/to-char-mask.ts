/** A part of a parsed mask of PostgreSQL's `to_char`: a pattern, or text to copy. */
export type MaskPart =
  | { readonly kind: 'copied'; readonly text: string }
  | {
      readonly kind: 'pattern'
      readonly name: string
      /** `FM`: without blanks and zeros as padding. */
      readonly isBare: boolean
      /** `TM`: in the server's language. */
      readonly isLocal: boolean
      /** `TH` or `th` after the pattern. */
      readonly ordinal: 'TH' | 'th' | null
      /** The pattern as written in the mask, with its prefix and suffix. */
      readonly written: string
    }

interface Language {
  /** Matches the longest pattern at the beginning of a text. */
  readonly patterns: RegExp
  /** True if patterns can have a prefix and a suffix. */
  readonly affixes: boolean
}

/** Patterns whose case determines that of the output. The case of the others doesn't matter. */
const words = 'A.D. B.C. AD BC A.M. P.M. AM PM RM TZ'.split(' ')
const digits = (
  'CC DDD DD D FF1 FF2 FF3 FF4 FF5 FF6 FX HH24 HH12 HH IDDD ID IW IYYY IYY IY I J MI MM MS OF Q ' +
  'SSSSS SSSS SS TZH TZM US WW W Y,YYY YYYY YYY YY Y'
).split(' ')
const names = 'MONTH Month month MON Mon mon DAY Day day DY Dy dy'.split(' ')

const longestFirst = (list: readonly string[]) =>
  new RegExp(
    `^(?:${list
      .toSorted((one, other) => other.length - one.length)
      .map(one => one.replaceAll('.', '\\.'))
      .join('|')})`,
  )

const withLower = (list: readonly string[]) => list.flatMap(one => [one, one.toLowerCase()])

export const instants: Language = {
  patterns: longestFirst([...withLower([...words, ...digits]), ...names]),
  affixes: true,
}

export const numbers: Language = {
  patterns: longestFirst(withLower(', . 0 9 B C D EEEE FM G L MI PL PR RN SG SP S TH V'.split(' '))),
  affixes: false,
}

/** Parses a mask as PostgreSQL does: text that is not a pattern is copied. */
export function readMask(mask: string, { patterns, affixes }: Language): MaskPart[] {
  const parts: MaskPart[] = []
  let rest = mask
  const take = (text: string) => {
    rest = rest.slice(text.length)
    return text
  }
  const takeMatch = (pattern: RegExp) => take(pattern.exec(rest)?.[0] ?? '')
  while (rest !== '') {
    const before = affixes ? takeMatch(/^(?:FM|fm|TM|tm)/) : ''
    const name = takeMatch(patterns)
    if (name !== '') {
      const behind = affixes ? takeMatch(/^(?:TH|th|SP)/) : ''
      const ordinal = behind === 'TH' || behind === 'th' ? behind : null
      parts.push({
        kind: 'pattern',
        written: before + name + behind,
        name,
        isBare: before.toUpperCase() === 'FM',
        isLocal: before.toUpperCase() === 'TM',
        ordinal,
      })
    } else if (rest.startsWith('"')) {
      // An unclosed quotation ends with the mask, and so does a final backslash.
      const [, quoted = ''] = /^"((?:\\.|[^"\\]|\\$)*)"?/s.exec(rest) ?? []
      rest = rest.slice(quoted.length + 1).replace(/^"/, '')
      parts.push({ kind: 'copied', text: quoted.replaceAll(/\\(.)/gs, '$1') })
    } else if (rest !== '') {
      if (rest.startsWith('\\"')) take('\\')
      parts.push({ kind: 'copied', text: take(String.fromCodePoint(rest.codePointAt(0) ?? 0)) })
    }
  }
  return parts
}

/**
 * Writes a mask without patterns that depend on the server: `TZ` becomes UTC, and separators
 * become those of no country.
 */
export function writePlainMask(parts: readonly MaskPart[], language: Language): string {
  const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`
  const plain = language.affixes
    ? { TZ: quoted('UTC'), tz: quoted('utc') }
    : { D: '.', d: '.', G: ',', g: ',' }
  const known = new Map(Object.entries(plain))
  const mask = parts
    .map(part => (part.kind === 'copied' ? quoted(part.text) : (known.get(part.name) ?? part.written)))
    .join('')
  // PostgreSQL would return null for an empty mask.
  return mask === '' ? quoted('') : mask
}

/** Returns the suffix of an ordinal number, as in 1st, 2nd, 3rd, 4th, 11th and 21st. */
export function ordinalOf(number: string): string {
  if (/1.$/.test(number)) return 'th'
  return { 1: 'st', 2: 'nd', 3: 'rd' }[number.slice(-1)] ?? 'th'
}
