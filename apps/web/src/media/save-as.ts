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
