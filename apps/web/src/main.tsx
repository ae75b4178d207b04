import { render } from 'preact';
import '@picocss/pico/css/pico.min.css';
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { Page } from './page.js';

const place = document.getElementById('page');
if (place) render(<Page />, place);
