import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { announce } from '../announce.js';
import { sentenceOf } from '../server.js';
import { useAction } from '../use-data.js';
import { Fault } from './parts.js';

interface ActionButtonProps {
  /** Runs on a click. Why it does not work is said behind the button. */
  readonly action: () => Promise<void>;
  readonly kind?: 'secondary' | 'danger';
  /** Says more than the text, to who does not see where the button is. */
  readonly fullLabel?: string;
  readonly isDisabled?: boolean;
  readonly children: ComponentChildren;
}

/** A button that does something at once, and waits for it. */
export function ActionButton({ action, kind = 'secondary', fullLabel, isDisabled, children }: ActionButtonProps) {
  const { isBusy, fault, run } = useAction();
  return (
    <>
      <button
        type="button"
        class={`outline ${kind} small`}
        aria-label={fullLabel}
        aria-busy={isBusy}
        disabled={isBusy || isDisabled === true}
        onClick={() => void run(action)}
      >
        {children}
      </button>
      <Fault text={fault} />
    </>
  );
}

interface ConfirmButtonProps<T> {
  readonly label: string;
  /** The label for screen readers, where the visible one does not say of what. */
  readonly fullLabel?: string;
  readonly question: string;
  readonly consequence: string;
  /** Whether nothing is lost by it. */
  readonly isHarmless?: boolean;
  /** The label of the button that confirms. */
  readonly doIt: string;
  readonly action: () => Promise<T>;
  /** Runs once the dialog is closed, for example to move the focus. */
  readonly done: (result: T) => Promise<void>;
}

/** A button for what has a consequence: it asks first. The dialog keeps the focus, and Escape closes it. */
export function ConfirmButton<T>({
  label,
  fullLabel = label,
  question,
  consequence,
  isHarmless = false,
  doIt,
  action,
  done,
}: ConfirmButtonProps<T>) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const id = useId();
  const run = async (): Promise<void> => {
    setBusy(true);
    setFault(undefined);
    let result: T;
    try {
      result = await action();
    } catch (error) {
      return setFault(sentenceOf(error));
    } finally {
      setBusy(false);
    }
    dialog.current?.close();
    await done(result);
  };
  return (
    <>
      <button
        type="button"
        class={isHarmless ? 'outline secondary small' : 'outline small danger'}
        aria-label={fullLabel}
        aria-haspopup="dialog"
        onClick={() => {
          setFault(undefined);
          dialog.current?.showModal();
        }}
      >
        {label}
      </button>
      <dialog ref={dialog} aria-labelledby={`${id}-question`} aria-describedby={`${id}-consequence`}>
        <article>
          <h3 id={`${id}-question`}>{question}</h3>
          <p id={`${id}-consequence`}>{consequence}</p>
          <Fault text={fault} />
          <footer>
            <button type="button" class="secondary" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button
              type="button"
              class={isHarmless ? '' : 'danger'}
              aria-busy={isBusy}
              disabled={isBusy}
              onClick={() => void run()}
            >
              {doIt}
            </button>
          </footer>
        </article>
      </dialog>
    </>
  );
}

interface CopyableProps {
  readonly text: string;
  /** The name of the text, as in "Copy the address". */
  readonly what: string;
}

/** A text to copy. If the browser does not let pages copy, as without TLS, the text is selected instead. */
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

interface ShownOnceProps {
  readonly secret: string;
  readonly onDone: () => void;
  /** Says that it is shown once, and what it is for. */
  readonly children: ComponentChildren;
}

/** A secret, to be copied before it is gone. */
export function ShownOnce({ secret, onDone, children }: ShownOnceProps) {
  return (
    <div class="secret">
      <p>{children}</p>
      <Copyable text={secret} what="the secret" />
      <button type="button" onClick={onDone}>
        I have copied it
      </button>
    </div>
  );
}
