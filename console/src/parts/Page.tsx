import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { visits } from '../router.ts'
import './page.css'

interface Parts {
  readonly title: string
  /** What the window is called, if it says more than the title. */
  readonly windowTitle?: string
  readonly lead?: ComponentChildren
  /** The pages above, each with its address. */
  readonly crumbs?: readonly (readonly [name: string, address: string])[]
  /** Buttons of the whole page. */
  readonly actions?: ComponentChildren
  /** A single form in the middle. */
  readonly narrow?: boolean
  readonly children?: ComponentChildren
}

/** The visit whose page has the focus already: the first one begins at the top of the document, as any page does. */
let focused = 0

/** Every page: its title gets the focus when it is opened, so that a screen reader says where one is. */
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
    document.title = `${windowTitle} · Carrel`
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
          {lead && <p class="lead">{lead}</p>}
        </div>
        {actions && <div class="row">{actions}</div>}
      </header>
      {children}
    </article>
  )
}
