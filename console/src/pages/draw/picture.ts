import { save } from '../../parts/save.ts'
import { letterSize, widthOf } from './Frame.tsx'

/**
 * Styles copied into a drawing when it is saved, because the style sheets of the page are not part of the
 * file.
 */
const taken = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'font-size',
  'font-family',
  'font-weight',
  'text-anchor',
  'dominant-baseline',
]

/** The words above a saved drawing, which stand beside it on the page: its title, and what isn't drawn. */
interface Words {
  readonly title: string
  readonly notes: readonly string[]
}

/** Size of the title, height of its lines and of those of the notes, and margin around all, in pixels. */
const [titleSize, titleLine, noteLine, space] = [17, 24, 19, 16]

/** @param size of the letters in pixels */
function linesOf(text: string, size: number, room: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const longer = [lines.at(-1), word].filter(Boolean).join(' ')
    if (lines.length > 0 && (widthOf(longer) * size) / letterSize <= room) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

const svgOf = (name: string, attributes: Readonly<Record<string, string | number>>) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [one, value] of Object.entries(attributes)) element.setAttribute(one, String(value))
  return element
}

function standalone(drawing: SVGSVGElement, { title, notes }: Words): SVGSVGElement {
  const copy = drawing.cloneNode(true) as SVGSVGElement
  const { width, height } = drawing.viewBox.baseVal
  const [originals, copies] = [drawing.querySelectorAll('*'), copy.querySelectorAll('*')]
  for (const [at, original] of originals.entries()) {
    if (original.tagName === 'title') continue
    const style = getComputedStyle(original)
    for (const name of taken) {
      const value = style.getPropertyValue(name)
      if (value !== '') copies[at]?.setAttribute(name, asRgb(value))
    }
  }
  // A file has no records to lead to.
  for (const reach of copy.querySelectorAll('.reach')) reach.remove()
  for (const link of copy.querySelectorAll('a')) {
    const group = svgOf('g', {})
    group.append(...link.childNodes)
    link.replaceWith(group)
  }
  const { fontFamily, color } = getComputedStyle(document.body)
  const page = getComputedStyle(document.documentElement)
  const [bold, plain] = [
    linesOf(title, titleSize, width),
    notes.flatMap(one => linesOf(one, letterSize, width)),
  ]
  const head = bold.length * titleLine + plain.length * noteLine + 10
  const inside = svgOf('g', { transform: `translate(${space} ${space + head})` })
  inside.append(...copy.childNodes)
  const words = svgOf('g', { 'font-family': fontFamily, fill: asRgb(color) })
  const write = (text: string, y: number, size: number, weight: number) => {
    const line = svgOf('text', { x: space, y: space + y, 'font-size': size, 'font-weight': weight })
    line.textContent = text
    words.append(line)
  }
  for (const [at, text] of bold.entries()) write(text, at * titleLine + titleSize, titleSize, 600)
  for (const [at, text] of plain.entries())
    write(text, bold.length * titleLine + at * noteLine + letterSize, letterSize, 400)
  const whole = svgOf('svg', {
    xmlns: 'http://www.w3.org/2000/svg',
    width: width + 2 * space,
    height: height + head + 2 * space,
    viewBox: `0 0 ${width + 2 * space} ${height + head + 2 * space}`,
    'font-size': letterSize,
  }) as SVGSVGElement
  const paper = svgOf('rect', { width: '100%', height: '100%', fill: asRgb(page.backgroundColor) })
  whole.append(paper, words, inside)
  return whole
}

let canvas: CanvasRenderingContext2D | null | undefined

/** Converts a color to RGB, because other programs don't understand `oklch()`. */
function asRgb(value: string): string {
  if (!/^(oklch|oklab|color|lab|lch)\(/.test(value)) return value
  canvas ??= document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  if (!canvas) return value
  canvas.clearRect(0, 0, 1, 1)
  canvas.fillStyle = value
  canvas.fillRect(0, 0, 1, 1)
  const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data
  return `rgb(${red},${green},${blue})`
}

const textOf = (picture: SVGSVGElement) => new XMLSerializer().serializeToString(picture)

export const saveSvg = (drawing: SVGSVGElement, words: Words): void =>
  save(new Blob([textOf(standalone(drawing, words))], { type: 'image/svg+xml' }), `${words.title}.svg`)

/** Saves a drawing as a PNG of twice its size on the page. */
export async function savePng(drawing: SVGSVGElement, words: Words): Promise<void> {
  const picture = standalone(drawing, words)
  const address = URL.createObjectURL(new Blob([textOf(picture)], { type: 'image/svg+xml' }))
  try {
    const image = new Image()
    image.src = address
    await image.decode()
    const surface = document.createElement('canvas')
    surface.width = Number(picture.getAttribute('width')) * 2
    surface.height = Number(picture.getAttribute('height')) * 2
    surface.getContext('2d')?.drawImage(image, 0, 0, surface.width, surface.height)
    const content = await new Promise<Blob | null>(resolve => surface.toBlob(resolve, 'image/png'))
    if (!content) throw new Error('The browser made no picture of the drawing.')
    save(content, `${words.title}.png`)
  } finally {
    URL.revokeObjectURL(address)
  }
}
