import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { announce } from '../announce.js';
import { type Action, useAction } from '../use-data.js';
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

export interface ConfirmButtonProps<T> {
  readonly label: string;
  /** The label for screen readers, where the visible one does not say of what. */
  readonly fullLabel?: string;
  readonly question: string;
  readonly consequence: string;
  /** Whether nothing is lost by it. */
  readonly isHarmless?: boolean;
  /** The label of the button that confirms. */
  readonly doIt: string;
  /** Fields to fill in; `action` gets what was. */
  readonly children?: ComponentChildren;
  readonly action: (form: FormData) => Promise<T>;
  /** Runs once the dialog is closed, for example to move the focus. */
  readonly done: (result: T) => Promise<void>;
  /** Says why it did not work. */
  readonly note?: (failed: Action) => ComponentChildren;
}

/** A button for what has a consequence: a dialog asks first. It keeps the focus, and Escape closes it. */
export function ConfirmButton<T>(props: ConfirmButtonProps<T>) {
  const { label, fullLabel = label, isHarmless = false } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  // It outlives the dialog, so that what is under way is not done twice.
  const doing = useAction();
  const id = useId();
  const open = (): void => {
    doing.setFault(undefined);
    setOpen(true);
    requestAnimationFrame(() => dialog.current?.showModal());
  };
  return (
    <>
      <button
        type="button"
        class={`outline small ${isHarmless ? 'secondary' : 'danger'}`}
        aria-label={fullLabel}
        aria-haspopup="dialog"
        onClick={open}
      >
        {label}
      </button>
      <dialog
        ref={dialog}
        aria-labelledby={`${id}-question`}
        aria-describedby={`${id}-consequence`}
        onClose={() => setOpen(false)}
      >
        {isOpen ? <Question {...props} id={id} doing={doing} close={() => dialog.current?.close()} /> : null}
      </dialog>
    </>
  );
}

interface QuestionProps<T> extends ConfirmButtonProps<T> {
  readonly id: string;
  readonly doing: Action;
  readonly close: () => void;
}

/** Created again each time the dialog opens, so that it contains nothing from an earlier time. */
function Question<T>({
  question,
  isHarmless,
  doIt,
  children,
  action,
  done,
  note,
  id,
  doing,
  close,
  ...props
}: QuestionProps<T>) {
  const consequence = <p id={`${id}-consequence`}>{props.consequence}</p>;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    void doing.run(async () => {
      const result = await action(form);
      close();
      await done(result);
    });
  };
  return (
    <article>
      <h3 id={`${id}-question`}>{question}</h3>
      {children === undefined ? consequence : null}
      <form id={id} onSubmit={submit} autocomplete="off">
        {children === undefined ? null : consequence}
        {children}
      </form>
      {note === undefined ? <Fault text={doing.fault} /> : note(doing)}
      <footer>
        <button type="button" class="secondary" onClick={close}>
          Cancel
        </button>
        <SubmitButton form={id} kind={isHarmless === true ? undefined : 'danger'} isBusy={doing.isBusy}>
          {doIt}
        </SubmitButton>
      </footer>
    </article>
  );
}

interface SubmitButtonProps {
  /** The id of its form, if it is not in that. */
  readonly form?: string;
  readonly kind?: string | undefined;
  readonly isBusy: boolean;
  readonly children: ComponentChildren;
}

/** Sends a form, once at a time. */
export function SubmitButton({ form, kind, isBusy, children }: SubmitButtonProps) {
  return (
    <button type="submit" form={form} class={kind} aria-busy={isBusy} disabled={isBusy}>
      {children}
    </button>
  );
}

/** A button that does something harmless at once. */
export function SmallButton({
  onClick,
  children,
}: {
  readonly onClick: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <button type="button" class="outline secondary small" onClick={onClick}>
      {children}
    </button>
  );
}

interface MoreButtonProps {
  readonly pages: { readonly more?: (() => Promise<void>) | undefined; readonly isReading: boolean };
  /** The kind of items, as in "More keys"; without it the button is larger. */
  readonly what?: string;
}

/** Loads the next page of a list, while there is one. */
export function MoreButton({ pages: { more, isReading }, what }: MoreButtonProps) {
  if (more === undefined) return null;
  return (
    <button
      type="button"
      class={what === undefined ? 'outline secondary more' : 'outline secondary small more'}
      aria-busy={isReading}
      disabled={isReading}
      onClick={() => void more()}
    >
      {what === undefined ? 'Show more' : `More ${what}`}
    </button>
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
