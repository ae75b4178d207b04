import { useId, useRef } from 'preact/hooks';
import { Dices, type LucideIcon, Minus, Plus } from 'lucide-preact';
import type { Json } from '../../api-types.js';
import { Button } from '../../parts/buttons.js';
import { type ControlProps, Field, FieldError } from '../../parts/form.js';
import { Icon } from '../../parts/icon.js';
import { NO_NUMBER, type ParameterField, randomSeed, ratioOf, type Shape, shown } from './parameters.js';

/** A longer hint takes the whole width. */
const WIDE_HINT = 60;

interface ParameterControlProps {
  readonly of: ParameterField;
  /** Empty for a parameter that is not sent. */
  readonly text: string;
  readonly changed: (text: string) => void;
  readonly error: string | undefined;
}

/** The field of one parameter, by the kind of its schema. */
export function ParameterControl(props: ParameterControlProps) {
  const { of: parameter, text, changed, error } = props;
  const { field, defaultValue, isRequired, hint } = parameter;
  const usual = defaultValue === undefined ? '' : shown(defaultValue);
  if (field.kind === 'choice' && field.look !== 'select')
    return <RadioField {...props} choices={field.choices} look={field.look} />;
  if (field.kind === 'switch') return <SwitchField {...props} />;
  const isSeed = field.kind === 'number' && field.look === 'seed';
  const isLong = field.kind === 'json' || (field.kind === 'text' && field.isLong);
  const isHinted = hint !== '' && !isSeed && !isCount(parameter);
  return (
    <div class={isLong || (isHinted && hint.length > WIDE_HINT) ? 'wide' : undefined}>
      <Field
        label={<ParameterName {...parameter} />}
        note={isSeed ? 'empty is random' : noteOf(parameter)}
        {...(isHinted ? { hint } : {})}
        error={error}
      >
        {(control) => {
          const input = {
            ...control,
            'class': 'input',
            'placeholder': usual,
            'value': text,
            'aria-required': isRequired || undefined,
          };
          if (field.kind === 'choice')
            return (
              <select {...input} onChange={({ currentTarget }) => changed(currentTarget.value)}>
                <option value="">{usual === '' ? (isRequired ? 'Choose' : 'Not set') : `${usual} (default)`}</option>
                {field.choices
                  .filter((choice) => JSON.stringify(choice) !== JSON.stringify(defaultValue))
                  .map((choice) => (
                    <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
                      {shown(choice)}
                    </option>
                  ))}
              </select>
            );
          if (field.kind === 'number') return <NumberControl {...props} control={control} />;
          const onInput = ({ currentTarget }: { currentTarget: { value: string } }): void =>
            changed(currentTarget.value);
          return isLong ? (
            <textarea
              {...input}
              class={field.kind === 'json' ? 'input mono' : 'input'}
              rows={3}
              spellcheck={field.kind === 'text'}
              onInput={onInput}
            />
          ) : (
            <input {...input} type="text" autocomplete="off" onInput={onInput} />
          );
        }}
      </Field>
    </div>
  );
}

/** What the field takes, and whether it must be filled in. */
function noteOf({ isRequired, defaultValue, bounds }: ParameterField): string | undefined {
  const notes = [isRequired && defaultValue === undefined ? 'required' : '', bounds].filter((note) => note !== '');
  return notes.length === 0 ? undefined : notes.join(', ');
}

function isCount({ name }: ParameterField): boolean {
  return name === 'n' || name === 'count';
}

/** The label of a parameter, and its name in the API where that is another word. */
function ParameterName({ label, name }: Pick<ParameterField, 'label' | 'name'>) {
  return (
    <>
      {label}
      {label.toLowerCase().replaceAll(' ', '_') === name.toLowerCase() ? null : <code class="note">{name}</code>}
    </>
  );
}

interface RadioFieldProps extends ParameterControlProps {
  readonly choices: readonly Json[];
  readonly look: 'shapes' | 'segments';
}

/** One of few values, all of which are shown. The default is marked until another one is chosen. */
function RadioField({ of: parameter, text, changed, error, choices, look }: RadioFieldProps) {
  const id = useId();
  const current = text === '' && parameter.defaultValue !== undefined ? JSON.stringify(parameter.defaultValue) : text;
  const chosen = choices.find((choice) => JSON.stringify(choice) === current);
  const labels = look === 'shapes' ? shapeLabels(choices) : choices.map(shown);
  return (
    <div class="field wide">
      <p class="label" id={id}>
        <ParameterName {...parameter} />
        {look === 'shapes' && chosen !== undefined ? <span class="push">{shown(chosen)}</span> : null}
      </p>
      <div
        role="radiogroup"
        class={look === 'shapes' ? 'shapes' : 'segments fill'}
        aria-labelledby={id}
        aria-required={parameter.isRequired || undefined}
        aria-invalid={error === undefined ? undefined : true}
        aria-describedby={`${id}-hint ${id}-error`}
      >
        {choices.map((choice, index) => {
          const value = JSON.stringify(choice);
          const shape = look === 'shapes' ? ratioOf(choice) : undefined;
          return (
            <label key={value} class={shape === undefined ? undefined : 'shape'}>
              <input type="radio" name={id} value={value} checked={value === current} onChange={() => changed(value)} />
              {shape === undefined ? null : <ShapeBox {...shape} all={choices} />}
              {labels[index]}
              {labels[index] === shown(choice) ? null : <span class="visually-hidden">{`, ${shown(choice)}`}</span>}
            </label>
          );
        })}
      </div>
      {look === 'shapes' || parameter.hint === '' ? null : (
        <p class="hint" id={`${id}-hint`}>
          {parameter.hint}
        </p>
      )}
      <FieldError id={`${id}-error`} text={error} />
    </div>
  );
}

const MAX_BOX_PX = 28;
const MIN_BOX_PX = 8;

/** A box of a shape; larger sizes have larger boxes. */
function ShapeBox({ width, height, all }: Shape & { readonly all: readonly Json[] }) {
  const largest = Math.max(...all.map((one) => longer(ratioOf(one))));
  const isRatio = largest < 64;
  // Differences of areas are seen better than those of lengths.
  const scale = isRatio ? 1 : Math.sqrt(longer({ width, height }) / largest);
  const px = (side: number): string =>
    `${Math.max(MIN_BOX_PX, Math.round((side / longer({ width, height })) * scale * MAX_BOX_PX))}px`;
  return <i style={{ inlineSize: px(width), blockSize: px(height) }} aria-hidden="true" />;
}

function longer(shape: Shape | undefined): number {
  return shape === undefined ? 0 : Math.max(shape.width, shape.height);
}

/** Short names of shapes: the side of a square, the ratio of others; the whole size where two would be the same. */
function shapeLabels(choices: readonly Json[]): readonly string[] {
  const short = choices.map((choice) => {
    const { width, height } = ratioOf(choice) ?? { width: 1, height: 1 };
    const isRatio = shown(choice).includes(':');
    if (width === height && !isRatio) return String(width);
    const divisor = greatestDivisor(width, height);
    const [across, down] = [width / divisor, height / divisor];
    return across > 32 || down > 32 ? shown(choice) : `${across}:${down}`;
  });
  return new Set(short).size === short.length ? short : choices.map(shown);
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** A number with buttons for its next values, or with a die for a random one. */
function NumberControl({
  of: parameter,
  text,
  changed,
  control,
}: ParameterControlProps & { readonly control: ControlProps }) {
  const input = useRef<HTMLInputElement>(null);
  const { field, defaultValue, label } = parameter;
  if (field.kind !== 'number') return null;
  const { min, max, look } = field;
  const step = field.step === 'any' ? 1 : field.step;
  const usual = typeof defaultValue === 'number' ? defaultValue : undefined;
  const current = text === '' || !Number.isFinite(Number(text)) ? usual : Number(text);
  const move = (by: number): void => {
    const next = current === undefined ? (min ?? 0) : current + by;
    changed(String(Math.min(max ?? next, Math.max(min ?? next, next))));
  };
  const number = (
    <input
      {...control}
      ref={input}
      class="input"
      type="number"
      step={field.step}
      min={min}
      max={max}
      value={text === NO_NUMBER ? undefined : text}
      placeholder={usual === undefined ? '' : String(usual)}
      autocomplete="off"
      aria-required={parameter.isRequired || undefined}
      onInput={({ currentTarget }) => changed(currentTarget.validity.badInput ? NO_NUMBER : currentTarget.value)}
    />
  );
  if (look === 'plain') return number;
  if (look === 'seed')
    return (
      <div class="joined">
        {number}
        <Button icon={Dices} label="Random seed" onClick={() => changed(randomSeed(parameter))} />
      </div>
    );
  const isAt = (bound: number | undefined): boolean =>
    current !== undefined && bound !== undefined && current === bound;
  return (
    <div class="joined stepper">
      <StepButton icon={Minus} label={`${label}: one less`} isLast={isAt(min)} step={() => move(-step)} />
      {number}
      <StepButton icon={Plus} label={`${label}: one more`} isLast={isAt(max)} step={() => move(step)} />
    </div>
  );
}

interface StepButtonProps {
  readonly icon: LucideIcon;
  readonly label: string;
  readonly isLast: boolean;
  readonly step: () => void;
}

/** At the last value it does nothing, and keeps the focus. */
function StepButton({ icon, label, isLast, step }: StepButtonProps) {
  return (
    <button
      type="button"
      class="button square"
      aria-label={label}
      title={label}
      aria-disabled={isLast || undefined}
      onClick={step}
    >
      <Icon of={icon} size={14} />
    </button>
  );
}

/** A parameter that is on or off. */
function SwitchField({ of: parameter, text, changed, error }: ParameterControlProps) {
  const id = useId();
  const isOn = text === '' ? parameter.defaultValue === true : text === 'true';
  return (
    <div class="field wide">
      <label class="check">
        <input
          type="checkbox"
          checked={isOn}
          aria-invalid={error === undefined ? undefined : true}
          aria-describedby={error === undefined ? undefined : id}
          onChange={({ currentTarget }) => changed(String(currentTarget.checked))}
        />
        <span>
          <ParameterName {...parameter} />
          {parameter.hint === '' ? null : <small>{parameter.hint}</small>}
        </span>
      </label>
      <FieldError id={id} text={error} />
    </div>
  );
}
