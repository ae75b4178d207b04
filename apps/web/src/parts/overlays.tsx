import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Icon, type IconName } from './icon.js';

interface DialogProps {
  readonly isOpen: boolean;
  /** Called when the person closes it, with Escape too. */
  readonly close: () => void;
  /** The id of its heading, or `label`. */
  readonly labelledBy?: string;
  readonly label?: string;
  readonly class?: string;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  readonly children: ComponentChildren;
}

/** A modal dialog of the browser, which keeps the focus inside and returns it. A click beside it closes it. */
export function Dialog({ isOpen, close, labelledBy, label, class: more = 'dialog', onKeyDown, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the page moves the focus itself, since the dialog returns it as it closes.
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const onClick = (event: MouseEvent): void => {
    if (event.target === dialog.current) close();
  };
  // For Escape: the page closes the dialog itself, so that its state always matches what is shown. File inputs send `cancel` too.
  const onCancel = (event: Event): void => {
    if (event.target !== dialog.current) return;
    event.preventDefault();
    close();
  };
  // The browser sends `close` later: by then, the dialog may be open again.
  const onClose = (): void => {
    if (isOpen && dialog.current?.open === false) close();
  };
  return (
    // Escape does what the click does, by the browser.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions
    <dialog
      ref={dialog}
      class={more}
      aria-labelledby={labelledBy}
      aria-label={label}
      onCancel={onCancel}
      onClose={onClose}
      onClick={onClick}
      onKeyDown={onKeyDown}
    >
      {isOpen ? children : null}
    </dialog>
  );
}

export interface MenuItem {
  readonly text: string;
  readonly icon?: IconName;
  /** What it leads to, or what it does. */
  readonly href?: string;
  readonly act?: () => void;
  readonly isDangerous?: boolean;
  readonly keys?: string;
  /** At the right of the text, such as a price. */
  readonly note?: string;
  /** For one of several choices: whether it is the current one. */
  readonly isChecked?: boolean;
  /** Whether the menu stays open after the act. */
  readonly isStaying?: boolean;
}

interface MenuProps {
  /** The name of the button, such as "More actions". */
  readonly label: string;
  readonly class?: string;
  readonly items: readonly MenuItem[];
  /** Above the items. */
  readonly children?: ComponentChildren;
  /** What the button shows. */
  readonly button: ComponentChildren;
}

/** A button with a menu, by the ARIA pattern: arrows, Home, End and first letters move, Escape closes. */
export function MenuButton({ label, class: more = 'button quiet square', items, children, button }: MenuProps) {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const entries = (): HTMLElement[] => [...(menu.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])];
  const onToggle = ({ newState }: { readonly newState: string }): void => {
    opener.current?.setAttribute('aria-expanded', String(newState === 'open'));
    if (newState !== 'open' || menu.current === null || opener.current === null) return;
    placeBeside(menu.current, opener.current.getBoundingClientRect());
    const all = entries();
    (all.find((one) => one.ariaChecked === 'true') ?? all[0])?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const all = entries();
    const next = nextIndex(event.key, all.indexOf(document.activeElement as HTMLElement), all);
    if (event.key === 'Tab') menu.current?.hidePopover();
    if (next === undefined) return;
    event.preventDefault();
    all[next]?.focus();
  };
  const choose = ({ act, isStaying = false }: MenuItem): void => {
    if (!isStaying) {
      menu.current?.hidePopover();
      opener.current?.focus();
    }
    act?.();
  };
  return (
    <>
      <button
        ref={opener}
        type="button"
        class={more}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded="false"
        popovertarget={id}
      >
        {button}
      </button>
      {/* The items take the focus, and the keys of all arrive here. */}
      {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions */}
      <div ref={menu} id={id} class="menu" popover="auto" onToggle={onToggle} onKeyDown={onKeyDown}>
        {children}
        <div role="menu" aria-label={label}>
          {items.map((item) => {
            const content = (
              <>
                {item.icon === undefined ? null : <Icon of={item.icon} size={14} />}
                {item.text}
                {item.note === undefined ? null : <span class="push faint">{item.note}</span>}
                {item.keys === undefined ? null : <kbd aria-hidden="true">{item.keys}</kbd>}
              </>
            );
            return item.href === undefined ? (
              <button
                key={item.text}
                type="button"
                role={item.isChecked === undefined ? 'menuitem' : 'menuitemradio'}
                aria-checked={item.isChecked}
                tabIndex={-1}
                class={item.isDangerous === true ? 'danger' : undefined}
                onClick={() => choose(item)}
              >
                {content}
              </button>
            ) : (
              <a key={item.text} href={item.href} role="menuitem" tabIndex={-1}>
                {content}
              </a>
            );
          })}
        </div>
      </div>
    </>
  );
}

/** The index that a key moves to in a menu; undefined for a key that moves nothing. */
function nextIndex(key: string, at: number, all: readonly HTMLElement[]): number | undefined {
  if (key === 'ArrowDown') return (at + 1) % all.length;
  if (key === 'ArrowUp') return (at - 1 + all.length) % all.length;
  if (key === 'Home') return 0;
  if (key === 'End') return all.length - 1;
  if (key.length !== 1 || key === ' ') return undefined;
  const isNamed = ({ textContent }: HTMLElement) => textContent?.trim().toLowerCase().startsWith(key.toLowerCase());
  const found = [...all.slice(at + 1), ...all.slice(0, at + 1)].find(isNamed);
  return found === undefined ? undefined : all.indexOf(found);
}

const GAP = 4;
const EDGE = 8;

/** Below a button, above it where there is no room, and never beyond the edge of the window. */
function placeBeside(shown: HTMLElement, { left, top, right, bottom }: DOMRect): void {
  const { offsetWidth: width, offsetHeight: height } = shown;
  const x = left + width > window.innerWidth - EDGE ? right - width : left;
  const y = bottom + GAP + height > window.innerHeight - EDGE ? top - GAP - height : bottom + GAP;
  shown.style.inset = `${Math.max(EDGE, y)}px auto auto ${Math.max(EDGE, x)}px`;
}
