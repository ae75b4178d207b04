import { useRef } from 'preact/hooks';
import { announce } from '../announce.js';

interface CopyableProps {
  readonly text: string;
  /** What it is, as in "Copy the address". */
  readonly what: string;
}

/** A text to copy. Where the browser lets no page copy, as without TLS, the text is selected instead. */
export function Copyable({ text, what }: CopyableProps) {
  const shown = useRef<HTMLPreElement>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      announce(`Copied ${what}.`);
    } catch {
      if (shown.current) window.getSelection()?.selectAllChildren(shown.current);
      announce(`Selected ${what}: press Ctrl+C or ⌘C to copy.`);
    }
  };
  return (
    <div class="copyable">
      <pre ref={shown}>
        <code>{text}</code>
      </pre>
      <button type="button" class="outline secondary small" aria-label={`Copy ${what}`} onClick={() => void copy()}>
        Copy
      </button>
    </div>
  );
}
