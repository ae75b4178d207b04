import { render } from 'preact';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/parts.css';
import './styles/frame.css';
import './styles/pages.css';
import './frame/preferences.js';
// later-pages.ts and operator-area.tsx share these: imported here, they are built into the first file.
import './keys/key-parts.js';
import './parts/form.js';
import './parts/scope-tags.js';
import './parts/times.js';
import { Console } from './console.js';

const page = document.getElementById('page');
if (page) render(<Console />, page);
