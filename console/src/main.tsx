import { render } from 'preact'
import { beginSpeaking } from './i18n/i18n.ts'
import { listen } from './router.ts'
import { beginSession } from './session.ts'
import { Shell } from './shell/Shell.tsx'
import './styles/tokens.css'
import './styles/base.css'

/** The wiring: the language, then the page, and meanwhile who is asking. */
const root = document.getElementById('console')
if (!root) throw new Error('The page has no place for the console.')
listen()
// What fails here is shown by the pages that need it.
beginSession().catch(() => {})
await beginSpeaking()
render(<Shell />, root)
