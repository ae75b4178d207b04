import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { leaving } from '../places.js';
import { useAction } from '../use-data.js';
import { ask as askFirst } from './ask.js';
import { Icon, type IconName } from './icon.js';
import { ActionFault } from './parts.js';
import { say } from './toasts.js';

type Kind = 'primary' | 'quiet' | 'danger' | 'destructive';

interface ButtonProps {
  readonly id?: string;
  readonly kind?: Kind | undefined;
  readonly isSmall?: boolean;
  readonly icon?: IconName | undefined;
  /** The name for screen readers, where the text does not say of what; required for a button with an icon alone. */
  readonly label?: string | undefined;
  /** While the work runs; the text then says so. */
  readonly isBusy?: boolean;
  readonly busyText?: string | undefined;
  readonly isDisabled?: boolean;
  readonly type?: 'button' | 'submit';
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
/** The text that was copied last. */
let copied = '';

/** Copies a text. Returns whether it was copied: browsers let pages copy with TLS only. */
export async function copyText(text: string, what: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    say(`${what} can’t be copied without HTTPS. Select it and press Ctrl+C or ⌘C.`);
    return false;
  }
  copied = text;
  say(`Copied ${what}.`);
  return true;
}

/** Copies a text, and says so for two seconds. Returns whether it was copied. */
export function useCopy(
  text: string | (() => string),
  what: string,
): readonly [isCopied: boolean, copy: () => Promise<boolean>] {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<boolean> => {
    if (!(await copyText(typeof text === 'string' ? text : text(), what))) return false;
    setCopied(true);
    setTimeout(() => setCopied(false), DONE_MS);
    return true;
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
      <Button isSmall icon={isCopied ? 'check' : 'copy'} label={`Copy ${what}`} onClick={() => void copyOrSelect()}>
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
      <Icon of={isCopied ? 'check' : 'copy'} size={12} />
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
  useEffect(() => {
    const isCopied = (): boolean => copied.includes(secret);
    const ask = (event: BeforeUnloadEvent): void => {
      if (!isCopied()) event.preventDefault();
    };
    window.addEventListener('beforeunload', ask);
    leaving.ask = (leave) => {
      if (isCopied()) return leave();
      askFirst({
        title: 'Leave without the secret?',
        text: 'It has not been copied, and is not shown again.',
        doIt: 'Leave',
        act: async () => undefined,
        done: leave,
      });
    };
    return () => {
      window.removeEventListener('beforeunload', ask);
      leaving.ask = undefined;
    };
  }, [secret]);
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
