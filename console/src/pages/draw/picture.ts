import { save } from '../../parts/save.ts'

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
  'text-anchor',
  'dominant-baseline',
]

function standalone(drawing: SVGSVGElement): SVGSVGElement {
  const copy = drawing.cloneNode(true) as SVGSVGElement
  const { width, height } = drawing.viewBox.baseVal
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  copy.setAttribute('width', String(width))
  copy.setAttribute('height', String(height))
  copy.removeAttribute('class')
  const [originals, copies] = [drawing.querySelectorAll('*'), copy.querySelectorAll('*')]
  for (const [at, original] of originals.entries()) {
    if (original.tagName === 'title') continue
    const style = getComputedStyle(original)
    for (const name of taken) {
      const value = style.getPropertyValue(name)
      if (value !== '') copies[at]?.setAttribute(name, asRgb(value))
    }
  }
  const paper = document.createElementNS('http://www.w3.org/2000/svg', 'rect')
  paper.setAttribute('width', '100%')
  paper.setAttribute('height', '100%')
  paper.setAttribute('fill', asRgb(getComputedStyle(document.documentElement).backgroundColor))
  copy.prepend(paper)
  return copy
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

const textOf = (drawing: SVGSVGElement) => new XMLSerializer().serializeToString(standalone(drawing))

export const saveSvg = (drawing: SVGSVGElement, name: string): void =>
  save(new Blob([textOf(drawing)], { type: 'image/svg+xml' }), `${name}.svg`)

/** Saves a drawing as a PNG of twice its size on the page. */
export async function savePng(drawing: SVGSVGElement, name: string): Promise<void> {
  const address = URL.createObjectURL(new Blob([textOf(drawing)], { type: 'image/svg+xml' }))
  try {
    const image = new Image()
    image.src = address
    await image.decode()
    const { width, height } = drawing.viewBox.baseVal
    const surface = document.createElement('canvas')
    surface.width = width * 2
    surface.height = height * 2
    surface.getContext('2d')?.drawImage(image, 0, 0, surface.width, surface.height)
    const content = await new Promise<Blob | null>(resolve => surface.toBlob(resolve, 'image/png'))
    if (!content) throw new Error('The browser made no picture of the drawing.')
    save(content, `${name}.png`)
  } finally {
    URL.revokeObjectURL(address)
  }
}
