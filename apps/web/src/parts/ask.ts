import type { ComponentChildren } from 'preact';
import { signal } from '@preact/signals';

/** A question that a dialog asks before an action. */
export interface Question<T = unknown> {
  title: string;
  /** The consequence of the action. */
  text?: ComponentChildren;
  /** Fields to fill in; `act` gets what was. */
  fields?: ComponentChildren;
  isWide?: boolean;
  /** Whether nothing is lost by it. */
  isHarmless?: boolean;
  /** The label of the button that confirms, also one that follows the fields, and what it says meanwhile. */
  doIt: string | ((form: FormData) => string);
  busyText?: string;
  act: (form: FormData) => Promise<T>;
  /** Runs once the dialog is closed, for example to move the focus. */
  done?: (result: T) => unknown;
}

export const asked = signal<Question<never> | undefined>(undefined);

/** Opens a dialog that names the object and the consequence, and acts once the person confirms. */
export function ask<T>(question: Question<T>): void {
  asked.value = question as unknown as Question<never>;
}
