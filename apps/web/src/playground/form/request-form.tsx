import { useState } from 'preact/hooks';
import { ChevronDown, FlaskConical, Plus, Zap } from 'lucide-preact';
import { numberText, spanText } from '../../format.js';
import { Button } from '../../parts/buttons.js';
import { Field } from '../../parts/form.js';
import { Icon } from '../../parts/icon.js';
import { MenuButton, type MenuItem } from '../../parts/overlays.js';
import { type ConsoleModel, priceText } from '../../models/use-models.js';
import { readable } from '../../server.js';
import { currency } from '../../session.js';
import { ParameterControl } from './controls.js';
import { ALL_PARAMETERS, pointerTo, textsOf } from './parameters.js';
import { ReferenceList, type References } from './references.js';
import type { Form } from './use-form.js';

/** A sentence of the server or of this page about a field, by its JSON Pointer. */
export type FaultAt = (pointer: string) => string | undefined;

interface RequestFormProps {
  readonly models: readonly ConsoleModel[];
  readonly form: Form;
  /** Called when the person chooses a model. */
  readonly picked: (key: string) => void;
  readonly references: References;
  readonly addFiles: (files: readonly File[]) => void;
  readonly fileFault: string | undefined;
  readonly faultAt: FaultAt;
}

/** The fields of a request: the model, the prompts, the model's parameters, and files. */
export function RequestForm({ models, form, picked, references, addFiles, fileFault, faultAt }: RequestFormProps) {
  const { model, fields, texts, setText } = form;
  return (
    <>
      <ModelPicker models={models} model={model} picked={picked} />
      <Prompts form={form} faultAt={faultAt} />
      {fields === undefined ? (
        <Field label="Parameters" note="a JSON object" error={faultAt('/parameters')}>
          {(control) => (
            <textarea
              {...control}
              class="input mono"
              rows={4}
              spellcheck={false}
              value={texts[ALL_PARAMETERS] ?? ''}
              onInput={({ currentTarget }) => setText(ALL_PARAMETERS, currentTarget.value)}
            />
          )}
        </Field>
      ) : fields.length === 0 ? null : (
        <div class="parameters">
          {fields.map((field) => (
            // Another model's parameter of this name is another field.
            <ParameterControl
              key={`${model.model_key} ${field.name}`}
              of={field}
              text={texts[field.name] ?? ''}
              changed={(text) => setText(field.name, text)}
              error={faultAt(pointerTo(field.name))}
            />
          ))}
        </div>
      )}
      <ReferenceList
        model={model}
        references={references}
        add={addFiles}
        faultAt={(index) => faultAt(`/reference_upload_ids/${index}`)}
        fault={fileFault ?? faultAt('/reference_upload_ids')}
      />
    </>
  );
}

interface ModelPickerProps {
  readonly models: readonly ConsoleModel[];
  readonly model: ConsoleModel;
  readonly picked: (key: string) => void;
}

/** The model with its price, and a menu of the others. Models for tests appear on request. */
function ModelPicker({ models, model, picked }: ModelPickerProps) {
  const [hasTests, setTests] = useState(false);
  const listed = models.filter((one) => !one.is_test || hasTests || one.model_key === model.model_key);
  const items: MenuItem[] = listed.map((one) => ({
    text: one.display_name,
    note: priceText(one, currency.value),
    isChecked: one.model_key === model.model_key,
    act: () => picked(one.model_key),
  }));
  const hidden = models.length - listed.length;
  if (hidden > 0)
    items.push({ text: 'Show test models', icon: FlaskConical, isStaying: true, act: () => setTests(true) });
  const sample = model.sample?.thumbnails['320'];
  const usual = model.usual_ms === undefined || model.usual_ms === null ? '' : ` · usually ${spanText(model.usual_ms)}`;
  return (
    <div class="stack-s">
      <MenuButton
        label={`Model: ${model.display_name}. Change`}
        class="model-pick"
        items={items}
        button={
          <>
            {sample === undefined ? null : <img src={readable(sample)} alt="" />}
            <span class="grow">
              <strong class="cut">{model.display_name}</strong>
              <span class="cut">{`${priceText(model, currency.value)}${usual}`}</span>
            </span>
            <Icon of={ChevronDown} />
          </>
        }
      />
      {model.description === undefined ? null : (
        <p class="tiny muted model-note" title={model.description}>
          {model.description}
        </p>
      )}
    </div>
  );
}

/** The prompt with examples, and the negative prompt once somebody wants one. */
function Prompts({ form, faultAt }: { readonly form: Form; readonly faultAt: FaultAt }) {
  const { model, prompt, setPrompt, negativePrompt, setNegativePrompt } = form;
  const [isWanted, setWanted] = useState(false);
  const takesPrompt = model.prompt_rule !== 'none';
  const takesNegative = model.limits.negative_prompt;
  const hasNegative = takesNegative && (isWanted || negativePrompt !== '');
  const most = model.max_prompt_characters;
  const length = [...prompt].length;
  const count = most === undefined ? numberText(length) : `${numberText(length)} / ${numberText(most)}`;
  const isTooLong = most !== undefined && length > most;
  return (
    <div class="stack-s">
      {takesPrompt ? (
        <Field
          label="Prompt"
          {...(model.prompt_rule === 'optional' ? { note: 'optional' } : {})}
          error={isTooLong ? `At most ${numberText(most)} characters.` : faultAt('/prompt')}
        >
          {(control) => (
            <textarea
              {...control}
              class="input"
              rows={4}
              value={prompt}
              aria-required={model.prompt_rule === 'required' || undefined}
              onInput={({ currentTarget }) => setPrompt(currentTarget.value)}
            />
          )}
        </Field>
      ) : null}
      <div class="row wrap prompt-tools">
        {takesNegative && !hasNegative ? (
          <Button isSmall kind="quiet" icon={Plus} onClick={() => setWanted(true)}>
            Negative prompt
          </Button>
        ) : null}
        <Examples form={form} />
        {takesPrompt ? <span class="tiny faint num push">{count}</span> : null}
      </div>
      {hasNegative ? (
        <Field label="Negative prompt" note="what to leave out" error={faultAt('/negative_prompt')}>
          {(control) => (
            <textarea
              {...control}
              class="input"
              rows={2}
              value={negativePrompt}
              {...(isWanted && negativePrompt === '' ? { ref: focusOnce } : {})}
              onInput={({ currentTarget }) => setNegativePrompt(currentTarget.value)}
            />
          )}
        </Field>
      ) : null}
    </div>
  );
}

/** The field that a person has just asked for takes the focus. */
function focusOnce(field: HTMLTextAreaElement | null): void {
  field?.focus();
}

/** Requests that the operator recommends for the model. */
function Examples({ form: { model, fill, setup, fields } }: { readonly form: Form }) {
  if (model.examples.length === 0) return null;
  const items = model.examples.map(({ title, prompt, parameters }): MenuItem => ({
    text: title ?? prompt ?? 'Example',
    act: () => fill({ ...setup, prompt: prompt ?? setup.prompt, texts: textsOf(fields, parameters) }),
  }));
  return (
    <MenuButton
      label="Examples"
      class="button small quiet"
      items={items}
      button={
        <>
          <Icon of={Zap} size={14} />
          Examples
        </>
      }
    />
  );
}
