import { render } from 'preact';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/parts.css';
import './styles/frame.css';
import './styles/pages.css';
import './frame/preferences.js';
// These are shared by the pages of later-pages.ts and operator-area.tsx.
import './keys/key-parts.js';
import './parts/form.js';
import './parts/scope-tags.js';
import './parts/times.js';
import { Console } from './console.js';

const page = document.getElementById('page');
if (page) render(<Console />, page);
