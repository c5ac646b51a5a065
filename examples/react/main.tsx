import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { carrel } from './carrel.ts'

const root = document.getElementById('root')
if (!root) throw new Error('the page has no root')
// Resumes a session from another tab, from before a reload, or from a single sign-on. If the service is away,
// the page says so later.
await carrel.resume().catch(() => {})
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
