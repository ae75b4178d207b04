import type { ComponentChildren } from 'preact';

interface FieldFrameProps {
  readonly id: string;
  readonly label: string;
  /** Empty where there is none. */
  readonly note: string;
  /** Why its value was not taken. */
  readonly fault: string | undefined;
  readonly isRequired: boolean;
  /** The control, with these attributes. */
  readonly children: (about: ControlAttributes) => ComponentChildren;
}

/** What ties a control to its label, its note and its fault. */
export interface ControlAttributes {
  readonly 'id': string;
  readonly 'aria-invalid': true | undefined;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-required': true | undefined;
}

/** A control with its label, what is said of it and what is wrong with it. */
export function FieldFrame({ id, label, note, fault, isRequired, children }: FieldFrameProps) {
  const described = [note === '' ? '' : `${id}-note`, fault === undefined ? '' : `${id}-fault`].join(' ').trim();
  return (
    <div class="field">
      <label for={id}>
        {label}
        {isRequired ? null : <span class="quiet"> (optional)</span>}
      </label>
      {children({
        'id': id,
        'aria-invalid': fault === undefined ? undefined : true,
        'aria-describedby': described === '' ? undefined : described,
        'aria-required': isRequired ? true : undefined,
      })}
      {note === '' ? null : <small id={`${id}-note`}>{note}</small>}
      {fault === undefined ? null : (
        <p id={`${id}-fault`} class="field-fault">
          {fault}
        </p>
      )}
    </div>
  );
}
