"""Which module holds which public name of training, layers, losses, metrics and saved models.

In: nothing. Out: `TOP` and `NAMESPACES`, tables of the form that `exports` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

_TRAIN = {
    "flowc.api.summaries.file_writer": "SummaryWriter=FileWriter",
    "flowc.api.training.optimizer": "Optimizer",
    "flowc.api.training.gradient_descent": """GradientDescentOptimizer
        ProximalGradientDescentOptimizer""",
    "flowc.api.training.momentum": "MomentumOptimizer",
    "flowc.api.training.adagrad": """AdadeltaOptimizer AdagradDAOptimizer AdagradOptimizer
        ProximalAdagradOptimizer""",
    "flowc.api.training.adam": "AdamOptimizer",
    "flowc.api.training.rms_prop": "RMSPropOptimizer",
    "flowc.api.training.ftrl": "FtrlOptimizer",
    "flowc.api.training.global_step": """assert_global_step create_global_step get_global_step
        get_or_create_global_step global_step""",
    "flowc.api.training.learning_rate_decay": """cosine_decay cosine_decay_restarts
        exponential_decay inverse_time_decay linear_cosine_decay natural_exp_decay
        noisy_linear_cosine_decay piecewise_constant piecewise_constant_decay polynomial_decay""",
    "flowc.api.training.moving_averages": "ExponentialMovingAverage",
    "flowc.api.training.clusters": "ClusterSpec basic_train_loop replica_device_setter",
    "flowc.api.training.coordinator": "Coordinator LooperThread",
    "flowc.api.training.monitored.session_run_hook": """SessionRunArgs SessionRunContext
        SessionRunHook SessionRunValues""",
    "flowc.api.training.monitored.timers": "SecondOrStepTimer",
    "flowc.api.training.monitored.hooks": """FeedFnHook FinalOpsHook GlobalStepWaiterHook
        LoggingTensorHook NanLossDuringTrainingError NanTensorHook StopAtStepHook""",
    "flowc.api.training.monitored.writing_hooks": """CheckpointSaverHook CheckpointSaverListener
        StepCounterHook SummarySaverHook""",
    "flowc.api.training.monitored.scaffold": "Scaffold",
    "flowc.api.training.monitored.session_preparation": "SessionManager",
    "flowc.api.training.monitored.session_creators": """ChiefSessionCreator SessionCreator
        WorkerSessionCreator""",
    "flowc.api.training.monitored.monitored_session": """MonitoredSession
        SingularMonitoredSession""",
    "flowc.api.training.monitored.monitored_training": "MonitoredTrainingSession",
    "flowc.api.training.monitored.supervisor": "Supervisor",
    "flowc.api.training.monitored.sync_replicas": "SyncReplicasOptimizer",
}
_SIGNATURES = """
build_signature_def classification_signature_def is_valid_signature predict_signature_def
regression_signature_def
"""
_SIGNATURE_KEYS = """
CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES
DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS REGRESS_INPUTS
REGRESS_METHOD_NAME REGRESS_OUTPUTS
"""
_FILES_OF_MODELS = """
ASSETS_DIRECTORY ASSETS_KEY DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB LEGACY_INIT_OP_KEY MAIN_OP_KEY
SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION VARIABLES_DIRECTORY
VARIABLES_FILENAME
"""
_TAGS = "GPU SERVING TPU TRAINING"

TOP: Mapping[str, str] = {}
NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "train": {
        **_TRAIN,
        "flowc.api.framework.models": "write_graph",
        "flowc.api.summaries.reading": "summary_iterator",
        "flowc.api.saving.saver": "Saver",
        "flowc.api.saving.exported_meta_graph": "export_meta_graph",
        "flowc.api.saving.imported_meta_graph": "import_meta_graph",
        "flowc.api.saving.initial_checkpoint": "init_from_checkpoint",
        "flowc.api.saving.vocabulary_rows": "VocabInfo",
        "flowc.api.saving.warm_start": "warm_start",
        "flowc.api.saving.checkpoint_state": """checkpoint_exists checkpoints_iterator
            generate_checkpoint_state_proto get_checkpoint_mtimes get_checkpoint_state
            latest_checkpoint remove_checkpoint update_checkpoint_state""",
        "flowc.api.saving.checkpoint_reader": """NewCheckpointReader list_variables load_checkpoint
            load_variable""",
        "flowc.proto.meta_graph_pb2": "SaverDef",
        "flowc.proto.checkpoint_pb2": "CheckpointState",
    },
    "saved_model": {
        "flowc.api.saving.saved_model_builder": "Builder=SavedModelBuilder simple_save",
        "flowc.api.saving.saved_model_loader": """contains_saved_model load main_op_with_restore
            maybe_saved_model_directory=contains_saved_model""",
        "flowc.api.saving.signature_defs": _SIGNATURES
        + "build_tensor_info get_tensor_from_tensor_info",
        "flowc.api.saving.saved_model_constants": _FILES_OF_MODELS + _SIGNATURE_KEYS + _TAGS,
    },
    "saved_model.builder": {"flowc.api.saving.saved_model_builder": "SavedModelBuilder"},
    "saved_model.constants": {"flowc.api.saving.saved_model_constants": _FILES_OF_MODELS},
    "saved_model.loader": {
        "flowc.api.saving.saved_model_loader": """load
            maybe_saved_model_directory=contains_saved_model"""
    },
    "saved_model.main_op": {
        "flowc.api.saving.saved_model_loader": "main_op=initialize_all main_op_with_restore"
    },
    "saved_model.signature_constants": {"flowc.api.saving.saved_model_constants": _SIGNATURE_KEYS},
    "saved_model.signature_def_utils": {"flowc.api.saving.signature_defs": _SIGNATURES},
    "saved_model.tag_constants": {"flowc.api.saving.saved_model_constants": _TAGS},
    "saved_model.utils": {
        "flowc.api.saving.signature_defs": "build_tensor_info get_tensor_from_tensor_info"
    },
    "layers": {
        "flowc.api.layers.input_spec": "InputSpec",
        "flowc.api.layers.layer": "Layer",
        "flowc.api.layers.core": "Dense Dropout Flatten dense dropout flatten",
        "flowc.api.layers.convolutional": """Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose
            SeparableConv1D SeparableConv2D conv1d conv2d conv2d_transpose conv3d conv3d_transpose
            separable_conv1d separable_conv2d""",
        "flowc.api.layers.pooling": """AveragePooling1D AveragePooling2D AveragePooling3D
            MaxPooling1D MaxPooling2D MaxPooling3D average_pooling1d average_pooling2d
            average_pooling3d max_pooling1d max_pooling2d max_pooling3d""",
        "flowc.api.layers.normalization": "BatchNormalization batch_normalization",
    },
    "losses": {
        "flowc.api.losses.losses": """absolute_difference cosine_distance hinge_loss huber_loss
            log_loss mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy
            softmax_cross_entropy sparse_softmax_cross_entropy""",
        "flowc.api.losses.weighting": "Reduction=LossReduction compute_weighted_loss",
        "flowc.api.losses.collection": """add_loss get_losses get_regularization_loss
            get_regularization_losses get_total_loss""",
    },
    "metrics": {
        "flowc.api.metrics.means": """accuracy mean mean_absolute_error mean_cosine_distance
            mean_relative_error mean_squared_error mean_tensor percentage_below
            root_mean_squared_error""",
        "flowc.api.metrics.confusion": """false_negatives false_positives mean_iou
            mean_per_class_accuracy precision recall true_negatives true_positives""",
        "flowc.api.metrics.ranking": """average_precision_at_k precision_at_k precision_at_top_k
            recall_at_k recall_at_top_k sparse_average_precision_at_k sparse_precision_at_k""",
        "flowc.api.metrics.thresholds": """auc false_negatives_at_thresholds
            false_positives_at_thresholds precision_at_thresholds recall_at_thresholds
            sensitivity_at_specificity specificity_at_sensitivity true_negatives_at_thresholds
            true_positives_at_thresholds""",
    },
}
