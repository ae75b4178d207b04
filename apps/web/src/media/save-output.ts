import type { Output } from '../api-types.js';
import { announce } from '../parts/toasts.js';
import { readable } from '../server.js';

/** How long a browser may take to begin saving, in milliseconds. */
const KEPT_MS = 60_000;

/** Has the browser save bytes as a file. */
export function saveAs(bytes: Blob, filename: string): void {
  const url = URL.createObjectURL(bytes);
  const link = document.createElement('a');
  link.href = url;
  link.download = filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
};

/** Saves an output. If another host stores it and does not let pages read it, the browser opens it instead. */
export async function saveOutput({ url }: Output, filename: string): Promise<void> {
  try {
    const response = await fetch(readable(url));
    if (!response.ok) throw new Error(`The answer has status ${response.status}.`);
    const bytes = await response.blob();
    saveAs(bytes, `${filename}.${EXTENSIONS[bytes.type] ?? 'bin'}`);
    announce('The file is saved.');
  } catch {
    window.open(url, '_blank', 'noopener');
  }
}
