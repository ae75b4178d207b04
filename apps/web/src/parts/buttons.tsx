import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Check, Copy, type LucideIcon } from 'lucide-preact';
import { type Action, useAction } from '../use-data.js';
import { Icon } from './icon.js';
import { Dialog } from './overlays.js';
import { ActionFault, Fault } from './parts.js';
import { say } from './toasts.js';

type Kind = 'primary' | 'quiet' | 'danger' | 'destructive';

export interface ButtonProps {
  readonly id?: string;
  readonly kind?: Kind | undefined;
  readonly isSmall?: boolean;
  readonly icon?: LucideIcon | undefined;
  /** The name for screen readers, where the text does not say of what; required for a button with an icon alone. */
  readonly label?: string | undefined;
  /** While the work runs; the text then says so. */
  readonly isBusy?: boolean;
  readonly busyText?: string | undefined;
  readonly isDisabled?: boolean;
  readonly type?: 'button' | 'submit';
  /** The id of its form, if it is not in that. */
  readonly form?: string;
  readonly class?: string;
  readonly onClick?: (event: MouseEvent) => void;
  readonly children?: ComponentChildren;
}

/** A button. While it is busy it keeps the focus and takes no click. */
export function Button(props: ButtonProps) {
  const { kind, isSmall = false, icon, label, isBusy = false, busyText, isDisabled = false, children, onClick } = props;
  const isSquare = children === undefined;
  const names = ['button', kind, isSmall ? 'small' : undefined, isSquare ? 'square' : undefined, props.class];
  return (
    <button
      id={props.id}
      type={props.type === 'submit' && !isBusy ? 'submit' : 'button'}
      form={props.form}
      class={names.filter(Boolean).join(' ')}
      aria-label={label}
      title={isSquare ? label : undefined}
      aria-busy={isBusy || undefined}
      disabled={isDisabled}
      onClick={(event) => {
        if (!isBusy) onClick?.(event);
      }}
    >
      {isBusy ? <span class="spinner" /> : icon === undefined ? null : <Icon of={icon} size={14} />}
      {isBusy && busyText !== undefined ? busyText : children}
    </button>
  );
}

interface ActionButtonProps extends Omit<ButtonProps, 'isBusy' | 'onClick' | 'type'> {
  /** Runs on a click. Why it does not work is said behind the button. */
  readonly action: () => Promise<void>;
}

/** A button that does something at once, and waits for it. */
export function ActionButton({ action, ...button }: ActionButtonProps) {
  const doing = useAction();
  return (
    <>
      <Button isSmall {...button} isBusy={doing.isBusy} onClick={() => void doing.run(action)} />
      <ActionFault doing={doing} />
    </>
  );
}

/** Sends a form, once at a time. */
export function SubmitButton({ kind = 'primary', ...button }: Omit<ButtonProps, 'type'>) {
  return <Button kind={kind} {...button} type="submit" />;
}

export interface QuestionProps<T> {
  readonly question: string;
  readonly consequence: ComponentChildren;
  /** Whether nothing is lost by it. */
  readonly isHarmless?: boolean;
  /** The label of the button that confirms, and what it says meanwhile. */
  readonly doIt: string;
  readonly busyText?: string;
  /** Fields to fill in; `action` gets what was. */
  readonly children?: ComponentChildren;
  readonly action: (form: FormData) => Promise<T>;
  /** Runs once the dialog is closed, for example to move the focus. */
  readonly done: (result: T) => Promise<void> | void;
  /** Says why it did not work. */
  readonly note?: (failed: Action) => ComponentChildren;
}

export interface ConfirmButtonProps<T> extends QuestionProps<T> {
  readonly label: string;
  readonly icon?: LucideIcon;
  /** The label for screen readers, where the visible one does not say of what. */
  readonly fullLabel?: string;
}

/** A button for what has a consequence: a dialog asks first. */
export function ConfirmButton<T>({ label, icon, fullLabel, ...question }: ConfirmButtonProps<T>) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        kind={question.isHarmless === true ? undefined : 'danger'}
        isSmall
        {...(icon === undefined ? {} : { icon })}
        label={fullLabel}
        onClick={() => setOpen(true)}
      >
        {label}
      </Button>
      <ConfirmDialog {...question} isOpen={isOpen} close={() => setOpen(false)} />
    </>
  );
}

interface ConfirmDialogProps<T> extends QuestionProps<T> {
  readonly isOpen: boolean;
  readonly close: () => void;
}

/** Names the object and the consequence, and does it once the person confirms. Escape closes it. */
export function ConfirmDialog<T>({ isOpen, close, ...question }: ConfirmDialogProps<T>) {
  const id = useId();
  // It outlives the question, so that what is under way is not done twice.
  const doing = useAction();
  return (
    <Dialog isOpen={isOpen} close={close} labelledBy={`${id}-question`}>
      <Question {...question} id={id} doing={doing} close={close} />
    </Dialog>
  );
}

/** Created again each time the dialog opens, so that it contains nothing from an earlier time. */
function Question<T>(props: QuestionProps<T> & { id: string; doing: Action; close: () => void }) {
  const { id, question, consequence, isHarmless = false, doIt, children, action, done, note, doing, close } = props;
  const { setFault } = doing;
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  useEffect(() => setFault(undefined), []);
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
    <form id={id} class="stack-s" onSubmit={submit} autocomplete="off">
      <h2 id={`${id}-question`}>{question}</h2>
      <p>{consequence}</p>
      {children}
      {note === undefined ? <Fault text={doing.fault} /> : note(doing)}
      <footer>
        <Button onClick={close}>Cancel</Button>
        <SubmitButton
          kind={isHarmless ? 'primary' : 'destructive'}
          isBusy={doing.isBusy}
          {...(props.busyText === undefined ? {} : { busyText: props.busyText })}
        >
          {doIt}
        </SubmitButton>
      </footer>
    </form>
  );
}

export interface MoreButtonProps {
  readonly pages: { readonly more?: (() => Promise<void>) | undefined; readonly isReading: boolean };
  /** The kind of items, as in "More keys". */
  readonly what?: string;
}

/** Loads the next page of a list, while there is one. */
export function MoreButton({ pages: { more, isReading }, what }: MoreButtonProps) {
  if (more === undefined) return null;
  return (
    <p class="more">
      <Button isBusy={isReading} onClick={() => void more()}>
        {what === undefined ? 'Show more' : `More ${what}`}
      </Button>
    </p>
  );
}

const DONE_MS = 2_000;

/** Copies a text. Returns whether it was copied: browsers let pages copy with TLS only. */
export async function copyText(text: string, what: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    say(`${what} can’t be copied without HTTPS. Select it and press Ctrl+C or ⌘C.`);
    return false;
  }
  say(`Copied ${what}.`);
  return true;
}

/** Copies a text, and says so for two seconds. Returns whether it was copied. */
export function useCopy(text: string, what: string): readonly [isCopied: boolean, copy: () => Promise<boolean>] {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<boolean> => {
    const worked = await copyText(text, what);
    setCopied(worked);
    setTimeout(() => setCopied(false), DONE_MS);
    return worked;
  };
  return [isCopied, copy];
}

interface CopyableProps {
  readonly text: string;
  /** The name of the text, as in "Copy the address". */
  readonly what: string;
  /** Whether long lines are wrapped; they are scrolled where absent. */
  readonly isWrapped?: boolean;
}

/** A text to copy, such as code. If the browser does not let the page copy, the text is selected instead. */
export function Copyable({ text, what, isWrapped = false }: CopyableProps) {
  const shown = useRef<HTMLPreElement>(null);
  const [isCopied, copy] = useCopy(text, what);
  const copyOrSelect = async (): Promise<void> => {
    if (!(await copy()) && shown.current) window.getSelection()?.selectAllChildren(shown.current);
  };
  return (
    <div class="code">
      {/* A region that scrolls can be reached with the keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre ref={shown} class={isWrapped ? 'wrap' : undefined} tabIndex={0}>
        <code>{text}</code>
      </pre>
      <Button isSmall icon={isCopied ? Check : Copy} label={`Copy ${what}`} onClick={() => void copyOrSelect()}>
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}

/** An id, shortened in the middle, that is copied as a whole. */
export function CopyableId({
  id,
  what = 'id',
  shown = shortId(id),
}: {
  readonly id: string;
  readonly what?: string;
  readonly shown?: string;
}) {
  const [isCopied, copy] = useCopy(id, what);
  return (
    <button type="button" class="copy" title={id} aria-label={`Copy ${what} ${id}`} onClick={() => void copy()}>
      <span class="cut">{shown}</span>
      <Icon of={isCopied ? Check : Copy} size={12} />
    </button>
  );
}

/** The first 8 and the last 12 characters of a UUID. */
export function shortId(id: string): string {
  return id.length > 24 ? `${id.slice(0, 8)}…${id.slice(-12)}` : id;
}

interface ShownOnceProps {
  readonly secret: string;
  readonly onDone: () => void;
  /** Other buttons, beside the one that ends it. */
  readonly actions?: ComponentChildren;
  /** Says that it is shown once, and what it is for. */
  readonly children: ComponentChildren;
}

/** A secret, to be copied before it is gone. */
export function ShownOnce({ secret, onDone, actions, children }: ShownOnceProps) {
  return (
    <div class="attention once">
      <div class="stack-s">
        <p>{children}</p>
        <Copyable text={secret} what="the secret" isWrapped />
        <div class="row wrap">
          <Button isSmall onClick={onDone}>
            I have copied it
          </Button>
          {actions}
        </div>
      </div>
    </div>
  );
}
