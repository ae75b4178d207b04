import { render } from 'preact';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/parts.css';
import './styles/frame.css';
import './styles/pages.css';
import './frame/preferences.js';
import { Console } from './console.js';

const page = document.getElementById('page');
if (page) render(<Console />, page);
