import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Icon } from './icon.js';

interface SelectFilterProps<T extends string> {
  readonly label: string;
  readonly value: string | undefined;
  readonly among: readonly T[];
  readonly text: (one: T) => string;
  /** The text for no choice; null where there must be one. */
  readonly none?: string | null;
  readonly changed: (value: string) => void;
}

/** A filter by one of some values, with its name inside: "Status: Any". */
export function SelectFilter<T extends string>(props: SelectFilterProps<T>) {
  const { label, value, among, text, none = 'Any', changed } = props;
  // It may name something that the list no longer has.
  const isUnknown = value !== undefined && value !== '' && !(among as readonly string[]).includes(value);
  return (
    <select
      class="input"
      aria-label={label}
      value={value ?? ''}
      onChange={({ currentTarget }) => changed(currentTarget.value)}
    >
      {none === null ? null : <option value="">{`${label}: ${none}`}</option>}
      {isUnknown ? <option value={value}>{`${label}: ${value}`}</option> : null}
      {among.map((one) => (
        <option key={one} value={one}>
          {`${label}: ${text(one)}`}
        </option>
      ))}
    </select>
  );
}

interface SearchFieldProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  /** Called a moment after the last key, and at once for Enter. */
  readonly changed: (text: string) => void;
  readonly maxLength?: number;
}

const PAUSE_MS = 300;

/** Runs what was asked for last, after a pause in which nothing else was. */
class Pause {
  private timer: ReturnType<typeof setTimeout> | undefined;

  run(delayMs: number, work: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(work, delayMs);
  }

  end(): void {
    clearTimeout(this.timer);
  }
}

/** A field for a search as the person types. The key `/` leads to it. */
export function SearchField({ label, placeholder, value, changed, maxLength = 200 }: SearchFieldProps) {
  const [pause] = useState(() => new Pause());
  const field = useRef<HTMLInputElement>(null);
  // Another page must not get the search of this one.
  useEffect(() => () => pause.end(), [pause]);
  // What is looked for may change without the field, such as by a button that clears it.
  useEffect(() => {
    const input = field.current;
    if (input !== null && document.activeElement !== input) input.setRangeText(value, 0, input.value.length);
  }, [value]);
  return (
    <label class="search">
      <Icon of="search" size={14} />
      <span class="visually-hidden">{label}</span>
      <input
        ref={field}
        type="search"
        class="input"
        data-search
        placeholder={placeholder}
        defaultValue={value}
        maxLength={maxLength}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => {
          const text = currentTarget.value.trim();
          pause.run(PAUSE_MS, () => changed(text));
        }}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter') pause.run(0, () => changed(currentTarget.value.trim()));
        }}
      />
    </label>
  );
}

interface SegmentsProps<T extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly text: ComponentChildren; readonly label?: string }[];
  readonly value: T;
  readonly changed: (value: T) => void;
}

/** One of few values: radio buttons that look like one control. */
export function Segments<T extends string>({ label, options, value, changed }: SegmentsProps<T>) {
  const name = useId();
  return (
    <div role="radiogroup" aria-label={label} class="segments">
      {options.map((option) => (
        <label key={option.value} title={option.label}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            aria-label={option.label}
            onChange={() => changed(option.value)}
          />
          {option.text}
        </label>
      ))}
    </div>
  );
}
