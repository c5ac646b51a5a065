import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { visits } from '../router.ts'
import { repositoryName } from '../settings.ts'
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
