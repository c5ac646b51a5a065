import { GlobalWorkerOptions, getDocument, type PDFDocumentProxy } from 'pdfjs-dist'
import worker from 'pdfjs-dist/build/pdf.worker.min.mjs?url'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../../i18n/i18n.ts'
import { ChevronLeft, ChevronRight } from '../../icons.ts'
import { IconButton } from '../../parts/controls.tsx'
import { useLoad } from '../../parts/load.ts'
import { Loading, ProblemNotice } from '../../parts/states.tsx'

GlobalWorkerOptions.workerSrc = worker

/** Shows a PDF on a canvas. The console draws the pages itself, and no code in the file runs. */
export function PdfViewer({ content }: { readonly content: Blob }): JSX.Element {
  const { value, problem } = useLoad(async () => {
    const data = new Uint8Array(await content.arrayBuffer())
    return getDocument({ data, enableXfa: false, useWasm: false, stopAtErrors: false }).promise
  }, [content])
  useEffect(() => {
    return () => {
      value?.loadingTask.destroy().catch(() => {})
    }
  }, [value])
  if (problem) return <ProblemNotice problem={problem} />
  return value ? <Pages pdf={value} /> : <Loading lines={6} />
}

function Pages({ pdf }: { readonly pdf: PDFDocumentProxy }): JSX.Element {
  const [number, setNumber] = useState(1)
  const canvas = useRef<HTMLCanvasElement>(null)
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<unknown>()
  useEffect(() => {
    let stop = () => {}
    let gone = false
    const draw = async () => {
      const page = await pdf.getPage(number)
      const surface = canvas.current
      if (gone || !surface) return
      const unscaled = page.getViewport({ scale: 1 })
      const room = Math.min(1_000, surface.parentElement?.clientWidth ?? 800)
      const viewport = page.getViewport({ scale: (room / unscaled.width) * Math.min(2, devicePixelRatio) })
      surface.width = viewport.width
      surface.height = viewport.height
      const task = page.render({ canvas: surface, viewport })
      stop = () => task.cancel()
      await task.promise
      const { items } = await page.getTextContent()
      if (!gone) setText(items.map(one => ('str' in one ? one.str + (one.hasEOL ? '\n' : '') : '')).join(''))
    }
    draw().catch(error => {
      if (!gone) setProblem(error)
    })
    return () => {
      gone = true
      stop()
    }
  }, [pdf, number])
  const step = (to: number, icon: typeof ChevronLeft, label: string, can: boolean) => (
    <IconButton icon={icon} label={label} aria-disabled={!can} onClick={() => can && setNumber(to)} />
  )
  return (
    <div class="pdf">
      <div class="row">
        {step(number - 1, ChevronLeft, t('pages.previous'), number > 1)}
        <span class="number small" role="status">
          {t('files.page', { page: number, pages: pdf.numPages })}
        </span>
        {step(number + 1, ChevronRight, t('pages.next'), number < pdf.numPages)}
      </div>
      <ProblemNotice problem={problem} />
      <canvas ref={canvas} aria-label={t('files.page', { page: number, pages: pdf.numPages })} role="img" />
      {text.trim() !== '' && (
        <details>
          <summary>{t('files.text')}</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled from the keyboard */}
          <pre tabIndex={0} dir="auto">
            {text}
          </pre>
        </details>
      )}
    </div>
  )
}
