import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { alert, lookForAlert } from '../alert.ts'
import { actAs, acting } from '../api.ts'
import { formatTime, t } from '../i18n/i18n.ts'
import { Megaphone, Menu as MenuIcon, UserRoundCog, X } from '../icons.ts'
import { OpenPage } from '../pages.tsx'
import { Button } from '../parts/controls.tsx'
import { Icon } from '../parts/Icon.tsx'
import { Toasts } from '../parts/toast.tsx'
import { visits } from '../router.ts'
import { Brand } from './Brand.tsx'
import { Keyboard } from './Keyboard.tsx'
import { SessionEnd } from './SessionEnd.tsx'
import { Sidebar } from './Sidebar.tsx'
import { Tour } from './Tour.tsx'
import './shell.css'
import '../parts/button.css'
import '../parts/field.css'

/** The frame around every page. */
export function Shell(): JSX.Element {
  const main = useRef<HTMLElement>(null)
  const [drawer, setDrawer] = useState(false)
  const visit = visits.value
  useEffect(() => {
    setDrawer(false)
    if (visit > 0) scrollTo(0, 0)
  }, [visit])
  return (
    <>
      <button type="button" class="skip button sr-only" onClick={() => main.current?.focus()}>
        {t('skip')}
      </button>
      <ActingBanner />
      <AlertNotice />
      <div class="shell">
        <header class="topbar">
          <Brand />
          <Button look="quiet" icon={MenuIcon} label={t('menu')} onClick={() => setDrawer(true)} />
        </header>
        <Sidebar />
        <main class="main" ref={main} tabIndex={-1}>
          <OpenPage />
        </main>
      </div>
      {drawer && <Drawer onClose={() => setDrawer(false)} />}
      <Keyboard />
      <Tour />
      <SessionEnd />
      <Toasts />
    </>
  )
}

/** The sidebar as a drawer, for narrow windows. */
function Drawer({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside it; Escape closes it from the keyboard
    <dialog
      ref={dialog}
      class="drawer"
      aria-label={t('menu')}
      onClose={onClose}
      onClick={event => event.target === dialog.current && onClose()}
    >
      <Sidebar />
      <Button icon={X} class="button quiet icon close" aria-label={t('menu.close')} onClick={onClose} />
    </dialog>
  )
}

/** Time in ms between two checks, since a page may stay open for days. */
const interval = 300_000

/** The operator's message to everyone, over every page. */
function AlertNotice(): JSX.Element | null {
  useEffect(() => {
    void lookForAlert()
    const timer = setInterval(lookForAlert, interval)
    return () => clearInterval(timer)
  }, [])
  const told = alert.value
  if (!told) return null
  return (
    <div class="alert" role="status">
      <Icon of={Megaphone} />
      <p>
        <bdi>{told.message}</bdi>
        {told.countdownTo && (
          <>
            {' '}
            <time dateTime={told.countdownTo}>{formatTime(told.countdownTo)}</time>
          </>
        )}
      </p>
    </div>
  )
}

/**
 * A banner over every page while an administrator acts on behalf of an eperson, so that it is not forgotten.
 */
function ActingBanner(): JSX.Element | null {
  const person = acting.value
  const banner = useRef<HTMLDivElement>(null)
  // Other elements that stick to the top are placed below the banner.
  useLayoutEffect(() => {
    const { style } = document.documentElement
    const element = banner.current
    if (!element) return
    const observer = new ResizeObserver(() => style.setProperty('--banner', `${element.offsetHeight}px`))
    observer.observe(element)
    return () => {
      observer.disconnect()
      style.removeProperty('--banner')
    }
  }, [person])
  if (!person) return null
  return (
    <div class="acting" role="status" ref={banner}>
      <Icon of={UserRoundCog} size={20} />
      <p>
        {t('acting.as')} <strong>{person.name}</strong>
        {person.reason && <span class="reason"> – {person.reason}</span>}
      </p>
      <Button label={t('acting.end')} onClick={() => actAs(undefined)} />
    </div>
  )
}
