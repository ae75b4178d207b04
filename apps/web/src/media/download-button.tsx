import { announce } from '../announce.js';
import { ActionButton } from '../parts/action-button.js';
import type { Output } from '../api-types.js';
import { saveAs } from './save-as.js';

interface DownloadButtonProps {
  readonly output: Output;
  readonly filename: string;
  readonly label: string;
}

/** Saves an output. Where another host keeps it and lets no page read it, the browser opens it instead. */
export function DownloadButton({ output: { url }, filename, label }: DownloadButtonProps) {
  const save = async (): Promise<void> => {
    try {
      const response = await fetch(url);
      if (!response.ok) throw new Error(`It was answered with ${response.status}.`);
      const bytes = await response.blob();
      saveAs(bytes, `${filename}.${extensionOf(bytes.type)}`);
      announce('The file was saved.');
    } catch {
      window.open(url, '_blank', 'noopener');
    }
  };
  return (
    <ActionButton fullLabel={label} action={save}>
      Download
    </ActionButton>
  );
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
};

function extensionOf(mediaType: string): string {
  return EXTENSIONS[mediaType] ?? 'bin';
}
