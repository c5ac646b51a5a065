import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { visits } from '../router.ts'
import { repositoryName } from '../settings.ts'
import { Pending } from './states.tsx'
import './page.css'

interface Parts {
  readonly title: string
  /** The title of the window, if it is longer than that of the page. */
  readonly windowTitle?: string
  readonly lead?: ComponentChildren
  /** The pages above this one, each with its address. */
  readonly crumbs?: readonly (readonly [name: string, address: string])[]
  /** Buttons that concern the whole page. */
  readonly actions?: ComponentChildren
  /** True for a page that is a single form, which is centered. */
  readonly narrow?: boolean
  readonly children?: ComponentChildren
}

/**
 * The last visit whose page got the focus. The first page never does: it begins at the top of the document.
 */
let focused = 0

/**
 * The frame of every page. The title gets the focus when the page is opened, so that a screen reader
 * announces it.
 */
export function Page({
  title,
  windowTitle = title,
  lead,
  crumbs,
  actions,
  narrow,
  children,
}: Parts): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null)
  const visit = visits.value
  useEffect(() => {
    document.title = `${windowTitle} · ${repositoryName}`
  }, [windowTitle])
  useEffect(() => {
    if (visit === focused) return
    focused = visit
    heading.current?.focus({ preventScroll: true })
  }, [visit])
  return (
    <article class={`page ${narrow ? 'narrow' : ''}`}>
      <header class="page-head">
        <div>
          {crumbs && (
            <nav aria-label={crumbs.map(([name]) => name).join(', ')}>
              <ol class="crumbs">
                {crumbs.map(([name, address]) => (
                  <li key={address}>
                    <a href={address}>{name}</a>
                  </li>
                ))}
              </ol>
            </nav>
          )}
          <h1 tabIndex={-1} ref={heading}>
            {title}
          </h1>
        </div>
        {lead && <p class="lead">{lead}</p>}
        {actions && <div class="row">{actions}</div>}
      </header>
      {children}
    </article>
  )
}

/** The parameters of a page's address. */
export interface At<Name extends string> {
  readonly parameters: { readonly [N in Name]?: string }
}

/** A page until its content is there, or if it can't be had. */
export const LoadingPage = ({
  problem,
  retry,
  ...parts
}: Pick<Parts, 'title' | 'crumbs'> & {
  readonly problem: unknown
  readonly retry: () => void
}): JSX.Element => (
  <Page {...parts}>
    <Pending problem={problem} retry={retry} />
  </Page>
)

interface SectionParts {
  readonly title: ComponentChildren
  readonly help?: string
  readonly children?: ComponentChildren
}

/** A part of a page. */
export const Section = ({ title, help, children }: SectionParts): JSX.Element => (
  <section class="section">
    <h2>{title}</h2>
    {help !== undefined && <p class="soft">{help}</p>}
    {children}
  </section>
)
