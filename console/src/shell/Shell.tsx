import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import { Menu as MenuIcon, X } from '../icons.ts'
import { OpenPage } from '../pages.tsx'
import { Icon } from '../parts/Icon.tsx'
import { Toasts } from '../parts/toast.tsx'
import { visits } from '../router.ts'
import { ActingBanner } from './ActingBanner.tsx'
import { AlertNotice } from './AlertNotice.tsx'
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
          <button type="button" class="button quiet" onClick={() => setDrawer(true)}>
            <Icon of={MenuIcon} />
            {t('menu')}
          </button>
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
      <button type="button" class="button quiet icon close" aria-label={t('menu.close')} onClick={onClose}>
        <Icon of={X} />
      </button>
    </dialog>
  )
}
