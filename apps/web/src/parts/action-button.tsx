import type { ComponentChildren } from 'preact';
import { useAction } from '../use-action.js';
import { Fault } from './fault.js';

interface ActionButtonProps {
  /** What a click does. Why it does not work is said behind the button. */
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
