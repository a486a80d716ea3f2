"""SECURITY.md promises nothing that no test keeps, and docs/advisories.md names no other test."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from flowc.encoding.tensorflow_ops import tensorflow_ops
from flowc.ops import tf_op

ROOT = Path(__file__).parents[2]
CAPABILITIES = "security/test_capabilities.py"
CHECKPOINT = "checkpoint/test_checkpoint.py"
FILES = "security/test_advisories_files.py"
PLAIN = "security/test_files.py"
MODELS = "security/test_advisories_models.py"
NODES = "security/test_malformed_nodes.py"
SIZES = "security/test_sizes.py"
CACHE = "cache/test_cache.py"
REFUSED_OPS = "test_tfsa_2021_170_and_2022_072_what_touches_more_than_tensors_is_no_op_of_a_model"
BUDGETS = "security/test_budgets.py"
DATA = "security/test_data_files.py"
SESSIONS = "security/test_malformed_sessions.py"

# How a promise begins -> its tests: the file below tests/, and names in it.
PROMISES: Mapping[str, Sequence[tuple[str, ...]]] = {
    "What a file is": [("importer/test_import.py", "test_kind_and_encoding_are_told_by_content")],
    "A damaged or malformed file": [
        ("importer/test_import.py", "test_damaged_files_end_in_an_error_or_a_graph",
         "test_what_is_no_model"),
        ("importer/test_refused_graphs.py", "test_malformed_graphs", "test_malformed_attributes"),
        ("security/test_malformed_graphs.py", "test_fuzzed_graphs"),
        (MODELS, "test_tfsa_2022_033_and_030_tensors"),
    ],
    "Every flipped bit": [
        (CHECKPOINT, "test_every_flipped_bit_of_an_index_is_seen",
         "test_every_flipped_byte_of_a_shard_is_seen", "test_every_truncation_is_seen"),
    ],
    "Lengths, offsets and shapes": [
        (FILES, "test_tfsa_2018_004_blocks_as_large_as_int64",
         "test_tfsa_2018_005_blocks_that_snappy_did_not_write",
         "test_tfsa_2021_193_entries_of_bundles", "test_tfsa_2021_193_slices"),
    ],
    "Only the model": [(BUDGETS, "test_only_the_model_and_the_cache_are_opened")],
    "What a model names": [
        (PLAIN, "test_what_a_model_names_lies_in_its_folder",
         "test_links_are_followed_inside_the_folder_and_where_they_are_allowed",
         "test_a_state_file_leads_nowhere_else"),
    ],
    "What a SavedModel runs": [
        ("importer/test_main_operations.py", "test_tables_are_filled",
         "test_a_link_to_a_file_elsewhere_is_not_followed"),
        (CAPABILITIES, "test_a_path_that_is_given_may_be_the_argument_of_functions"),
    ],
    "Only plain files": [(PLAIN, "test_what_is_no_file_is_said_at_once")],
    "A model or checkpoint that is changed": [(PLAIN, "test_files_may_change_under_a_process")],
    "Archives given": [(PLAIN, "test_archives_that_would_fill_the_memory")],
    "Links, folders and devices": [
        (PLAIN, "test_links_and_devices_are_not_replaced", "test_nothing_is_written_through_links"),
    ],
    "A child that is forked": [
        ("run/test_forks.py", "test_children", "test_no_attribute_waits_for_that_of_another_object")
    ],
    "A compilation makes": [
        ("run/test_max_memory.py", "test_a_compilation_makes_no_more_than_it_may",
         "test_what_folding_has_no_room_for_is_left_to_the_run",
         "test_texts_take_part_in_what_a_compilation_makes"),
    ],
    "What was read of the cache": [
        ("cache/test_damaged_entries.py",
         "test_what_was_read_stays_whatever_happens_to_the_entry"),
    ],
    "Batches, buffers": [
        (DATA, "test_what_datasets_keep_has_a_bound", "test_lines_over_several_pieces"),
    ],
    "Lengths in a record": [
        (DATA, "test_a_length_is_believed_no_further_than_the_file_reaches"),
    ],
    "Sizes, counts and names": [
        (SESSIONS, "test_fuzzed_calls", "test_faults_stay_gone", "test_names_that_are_no_text"),
    ],
    "A handle names": [(SESSIONS, "test_faults_stay_gone")],
    "Functions of datasets": [
        (DATA, "test_functions_of_datasets_have_the_permissions_of_their_graph"),
    ],
    "A library takes": [
        ("run/test_max_memory.py", "test_a_run_of_a_library_takes_no_more_than_it_may")
    ],
    "A compilation ends": [("run/test_interrupted_compilation.py", "test_interrupts")],
    "Files that flowc writes": [
        ("aot/test_aot_library.py", "test_files_are_replaced_whole_or_not_at_all"),
        ("cli/test_cli_faults.py", "test_what_is_no_plain_file_is_not_replaced"),
        (FILES, "test_tfsa_2022_027_names_of_temporary_files_are_taken_at_once"),
    ],
    "Messages in text nest": [
        (MODELS, "test_tfsa_2021_103_tensors_nested_thousands_deep",
         "test_tfsa_2022_054_functions_that_call_themselves",
         "test_tfsa_2021_180_functions_in_one_another"),
    ],
    "Functions that are called": [
        (BUDGETS, "test_calls_of_calls_have_a_bound",
         "test_calls_of_calls_are_counted_as_often_as_they_are_called"),
    ],
    "Nodes that a fetch needs": [
        (NODES, "test_a_fault_is_named", "test_all_faults_are_told_at_once",
         "test_nodes_of_functions_are_verified", "test_what_no_fetch_needs_is_not_verified"),
    ],
    "A fault of flowc": [(NODES, "test_a_fault_of_flowc_names_the_node_and_leaves_a_report")],
    "No code comes out": [
        (BUDGETS, "test_what_runs_text_as_code_is_never_given_a_models",
         "test_names_in_a_model_stay_names"),
        (MODELS, REFUSED_OPS),
    ],
    "Nodes that come from a file": [
        (CAPABILITIES, "test_an_imported_node_calls_python_only_where_that_is_allowed",
         "test_only_what_a_fetch_needs_is_asked_for",
         "test_control_inputs_and_bodies_of_functions_count",
         "test_the_commands_take_the_permission", "test_all_that_is_refused_is_told_at_once",
         "test_names_of_capabilities_are_checked",
         "test_the_table_holds_ops_of_tensorflow_that_no_record_speaks_for"),
        (MODELS, REFUSED_OPS),
    ],
    "A checkpoint that a graph's own nodes": [
        (CAPABILITIES, "test_a_checkpoint_may_be_where_the_caller_says_and_nowhere_else"),
        (FILES, "test_tfsa_2021_113_and_122_checkpoints_that_models_name"),
    ],
    "A program from the cache": [
        (CAPABILITIES, "test_a_program_from_the_cache_needs_the_permission_too"),
    ],
    "Messages (`Print`": [
        ("ops/strings/test_print.py", "test_the_standard_output"),
        (FILES, "test_tfsa_2022_166_a_bool_of_7_is_printed"),
    ],
    "`flowc scan` lists": [
        (CAPABILITIES, "test_scan_lists_all_that_does_more_than_compute",
         "test_scan_ends_with_0_for_what_is_clean_or_allowed",
         "test_scan_ends_with_4_for_what_cannot_be_read"),
    ],
    "A run checks every dim": [
        ("run/test_session.py", "test_row_7_any_tensor_may_be_fed_and_values_may_be_plain"),
        ("runtime/test_runtime_loader.py", "test_what_does_not_fit_is_named"),
    ],
    "Kernels check indices": [
        (NODES, "test_sparse_segments_refuse_ids_below_0", "test_nth_element_of_the_run"),
        ("security/test_advisories_ops.py", "test_refused"),
        (SIZES, "test_faults_stay_gone"),
    ],
    "Sizes that come from data": [
        (SIZES, "test_faults_stay_gone", "test_fuzz_absurd_sizes_are_refused",
         "test_what_does_not_fit_names_its_node"),
        (FILES, "test_tfsa_2021_196_what_is_too_large_is_refused_before_it_is_made"),
    ],
    "A Session takes no more": [
        ("run/test_max_memory.py", "test_a_run_takes_no_more_than_it_may",
         "test_what_the_machine_has_is_the_limit_without_one"),
    ],
    "A lack of memory": [(SIZES, "test_a_lack_of_memory_is_no_fault_of_flowc")],
    "A run ends": [
        ("run/test_interrupts.py", "test_interrupted",
         "test_a_run_may_not_take_longer_than_its_options_say"),
    ],
    "A run that fails": [("run/test_state.py", "test_a_run_that_fails_changes_nothing")],
    "Arrays and literals": [
        ("cli/test_cli_faults.py", "test_pickled_arrays_are_refused",
         "test_a_literal_is_read_and_not_evaluated"),
        (FILES, "test_tfsa_2022_060_inputs_of_commands_are_literals"),
    ],
    "A library checks": [
        ("aot/test_aot_library.py", "test_dims_of_inputs_are_checked", "test_a_c_program_calls_it"),
        (SIZES, "test_faults_stay_gone"),
    ],
    "A library whose weights": [
        ("runtime/test_runtime_loader.py", "test_a_wrong_weights_file_is_an_error"),
    ],
    "What an instance": [("codegen/abi/test_abi_state.py", "test_two_instances_share_nothing")],
    "The cache is used only": [
        (CACHE, "test_a_folder_that_others_can_write_to_is_refused_once",
         "test_a_new_folder_is_the_users_alone", "test_a_file_in_place_of_the_folder"),
    ],
    "A damaged entry": [
        (CACHE, "test_a_damaged_entry_is_made_again", "test_every_byte_is_guarded"),
    ],
    "| nodes of a model": [(BUDGETS, "test_a_model_of_too_many_nodes_is_refused")],
    "| nodes of the functions": [(BUDGETS, "test_calls_of_calls_have_a_bound")],
    "| outputs of a node": [(NODES, "test_more_outputs_than_memory_are_none")],
    "| rank of a tensor": [
        ("security/test_advisories_ops.py", "test_refused"),
        (MODELS, "test_tfsa_2022_033_and_030_tensors"),
    ],
    "| elements, and bytes": [(SIZES, "test_faults_stay_gone")],
    "| bytes of a run in": [("run/test_max_memory.py", "test_a_run_takes_no_more_than_it_may")],
    "| bytes that": [("run/test_max_memory.py", "test_commands_take_a_limit")],
    "| bytes of a run of": [
        ("run/test_max_memory.py", "test_a_run_of_a_library_takes_no_more_than_it_may")
    ],
    "| characters of": [("run/test_max_memory.py", "test_texts_that_an_attr_makes_long")],
    "| nesting of messages": [(MODELS, "test_tfsa_2021_103_tensors_nested_thousands_deep")],
    "| functions in one another": [(MODELS, "test_tfsa_2021_180_functions_in_one_another")],
    "| threads of a run": [("runtime/test_runtime_loader.py", "test_thread_counts_are_checked")],
}  # fmt: skip


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text())
    return frozenset(part.name for part in tree.body if isinstance(part, ast.FunctionDef))


def section(text: str, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def promises() -> list[str]:
    text = (ROOT / "SECURITY.md").read_text()
    bullets = re.findall(r"^- (.*?)(?=^- |^\n|\Z)", section(text, "What is promised"), re.M | re.S)
    rows = re.findall(r"^\|.*\|$", section(text, "Budgets"), re.MULTILINE)[2:]
    return [" ".join(found.split()) for found in (*bullets, *rows)]


def test_a_test_stands_behind_every_sentence() -> None:
    sentences = promises()
    assert len(sentences) > 30
    for sentence in sentences:
        known = [start for start in PROMISES if sentence.startswith(start)]
        assert len(known) == 1, f"{sentence!r}: the table has {known}"
    for start in PROMISES:
        assert any(s.startswith(start) for s in sentences), f"nothing begins with {start!r}"


@pytest.mark.parametrize("start", PROMISES)
def test_its_tests_exist(start: str) -> None:
    for file, *names in PROMISES[start]:
        assert names and set(names) <= names_in(file), file


def advisories_in(text: str) -> set[tuple[str, str]]:
    """(year, number) of each that a text names: `TFSA-2021-198`, `test_tfsa_2022_049_and_137_x`."""
    found = set(re.findall(r"TFSA-(\d{4})-(\d{3})", text))
    for words in re.findall(r"def test_tfsa((?:_\d+|_and)+)", text):
        year = ""
        for word in re.findall(r"\d+", words):
            year = word if len(word) == 4 else year
            found |= {(year, word)} if len(word) == 3 else set()
    return found


def test_the_advisories_have_the_tests_that_the_page_names() -> None:
    page = (ROOT / "docs" / "advisories.md").read_text()
    rows = re.findall(r"^\| TFSA.*\|$", section(page, "Tried"), re.MULTILINE)
    assert len(rows) == 32
    for row in rows:
        files = re.findall(r"`([\w/.]+\.py)`", row)
        tried = [advisories_in((ROOT / "tests" / file).read_text()) for file in files]
        assert advisories_in(row) <= set().union(*tried), row


def test_ops_that_the_page_says_are_missing_are_missing() -> None:
    page = (ROOT / "docs" / "advisories.md").read_text()
    names = re.findall(r"`([A-Z]\w+)`", section(page, "Ops that flowc does not have"))
    assert len(names) >= 8
    assert set(names) <= tensorflow_ops()
    assert not [name for name in names if tf_op(name) is not None]
