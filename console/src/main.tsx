import { render } from 'preact'
import { beginSpeaking } from './i18n/i18n.ts'
import { listen } from './router.ts'
import { beginSession } from './session.ts'
import { Shell } from './shell/Shell.tsx'
import './styles/tokens.css'
import './styles/base.css'

/** Starts the console: loads the language, then shows the page. Meanwhile the session is looked up. */
const root = document.getElementById('console')
if (!root) throw new Error('The page has no place for the console.')
listen()
// Pages that need the session show its failure.
beginSession().catch(() => {})
await beginSpeaking()
render(<Shell />, root)
